"""The workload as commands: every record once, in order, with its key, value and time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.model.payload import Identity, decode
from harness.model.spec import ClientRef, TrialSpec, Workload
from harness.model.verdicts import Guarantee
from harness.trial.pacing import paced
from harness.workloads.produce.commands import key_of, produce

WORKLOADS = st.builds(
    Workload,
    records=st.integers(0, 60),
    records_per_command=st.integers(1, 25),
    interval_ms=st.integers(0, 100),
    keys=st.integers(0, 7),
    value_bytes=st.integers(0, 120),
)


def spec(workload: Workload) -> TrialSpec:
    return TrialSpec("t", ClientRef("c", "1"), "b:1", "s", Guarantee.IDEMPOTENT, 1, workload, (), {})


@given(WORKLOADS)
def test_every_record_is_sent_once_in_order_and_within_the_load(workload):
    told = list(paced(workload))

    assert [n for _, numbers in told for n in numbers] == list(range(workload.records))
    assert [at_ms for at_ms, _ in told] == [i * workload.interval_ms for i in range(len(told))]
    assert len(told) * workload.interval_ms == workload.load_ms


@given(WORKLOADS)
def test_every_value_has_its_identity_and_every_key_follows_from_the_number(workload):
    for _, numbers in paced(workload):
        command = produce(spec(workload), "run", "topic", numbers)
        assert (command.first, command.count) == (numbers.start, len(numbers))
        assert (command.topic, command.partitions) == ("topic", None)
        for n, (key, value) in enumerate(zip(command.keys, command.values, strict=True), command.first):
            assert decode(value) == Identity("run", "topic", "p1", n)
            assert len(value) >= workload.value_bytes
            assert key == key_of(workload, n) == (f"k{n % workload.keys}" if workload.keys else None)
