"""Every state and event of every machine, against the oracle's tables. For batches, also on the real object."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from hypothesis import strategies as st

from clients.reference.errors import SendError
from clients.reference.producer.buffer_pool import Grant
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.states import IllegalTransition, Machine
from clients.reference.telemetry.trace import Trace, TraceEvent, no_trace
from harness.model.verdicts import Outcome
from harness.wire.records import BatchBuilder
from suites.checks.trace.trace_model import FINAL
from suites.checks.trace.transition import Transitions
from suites.oracle import MACHINES as ORACLES
from suites.oracle.machine import differences
from suites.properties.property import client_property, example
from suites.properties.stand_ins import MACHINES, table_of

RECORDS = 3


@client_property(
    "NET-CON-01",
    "PRD-FIN-01",
    "PRD-FIN-02",
    "PRD-FIN-03",
    "PRD-IDM-07",
    "PRD-IDM-10",
    "PRD-IDM-11",
    "PRD-EXP-06",
)
def every_pair_is_the_oracles(components: Components) -> None:
    """Each (state, event) pair of each machine leads where the oracle says, or is refused."""
    machines: Mapping[str, Machine[Any, Any]] = getattr(components, "machines", MACHINES)
    assert machines.keys() == ORACLES.keys()
    for name, machine in machines.items():
        found = differences(ORACLES[name], table_of(machine))
        assert not found, "\n".join([name, *found])
        for state in type(machine.initial):
            for event in type(next(iter(machine.transitions))[1]):
                if (state.told, event.told) in ORACLES[name].table:
                    assert machine.allows(state, event)
                    continue
                assert not machine.allows(state, event)
                try:
                    machine.after(state, event)
                except IllegalTransition:
                    continue
                raise AssertionError(f"{name}: {event.told} from {state.told} was not refused")


def batch_of(
    components: Components, records: int, told: list[tuple[int, bool]], trace: Trace = no_trace
) -> ProducerBatch:
    """Return an open batch with ``records`` records. Each callback adds (index, whether it was stored) to ``told``."""
    batch = components.batch(("t", 0), 1, BatchBuilder(), Grant(1_000), 1_000, 0, trace, 10_000)
    for index in range(records):
        tell = partial(_tell, told, index)
        batch.append(0, None, b"%d" % index, (), tell)
    return batch


def _tell(told: list[tuple[int, bool]], index: int, _: object, error: SendError | None) -> None:
    told.append((index, error is None))


def failure() -> SendError:
    return SendError("caused-by-the-property", "caused by the property", outcome=Outcome.FAIL)


STEPS = ("close", "drain", "reenqueue", "succeed", "fail", "abort")


def take(batch: ProducerBatch, step: str) -> bool | None:
    """Ask the batch for a step, and return its answer."""
    if step == "close":
        batch.close(0, "full")
    elif step == "drain":
        batch.drained(0)
    elif step == "reenqueue":
        batch.reenqueued(0, 0)
    elif step == "succeed":
        return batch.succeed(7, -1, 0)
    elif step == "fail":
        return batch.fail(failure(), 0)
    else:
        batch.abort(failure(), 0)
    return None


@client_property(
    "PRD-FIN-01", "PRD-FIN-02", "PRD-FIN-03", "PRD-SND-13", steps=st.lists(st.sampled_from(STEPS), max_size=9)
)
@example(steps=["drain", "succeed"])
@example(steps=["drain", "fail", "succeed"])
@example(steps=["drain", "succeed", "succeed"])
@example(steps=["drain", "reenqueue", "drain", "fail", "abort"])
def a_batch_takes_one_final_state(components: Components, steps: list[str]) -> None:
    """A batch follows the table whatever it is asked, ends once, and reports its first end to callers."""
    told: list[tuple[int, bool]] = []
    events: list[TraceEvent] = []
    batch = batch_of(components, RECORDS, told, events.append)
    state, first_end = "OPEN", ""
    for step in steps:
        before = state
        if step == "close" and state != "OPEN":
            batch.close(0, "full")  # there is nothing left to do
            assert batch.state.value == state
            continue
        if step == "drain" and state == "OPEN":
            state = "CLOSED"
        expected = ORACLES["batch"].table.get((state, step))
        try:
            said = take(batch, step)
        except IllegalTransition:
            assert expected is None, f"{step} from {before} was refused"
            assert batch.state.value == state
            continue
        assert expected is not None, f"{step} from {before} was not refused"
        assert batch.state.value == expected, f"{step} from {before} gave {batch.state.value}"
        if said is not None:
            assert said is (state not in FINAL), f"{step} from {before} said {said}"
        first_end = first_end or (expected if expected in FINAL else "")
        state = expected
    assert batch.is_done is bool(first_end)
    if batch.is_done:
        batch.publish(lambda raised: None)
        batch.publish(lambda raised: None)
        assert told == [(index, first_end == "SUCCEEDED") for index in range(RECORDS)]
    assert not (breaches := Transitions().watch(events)), breaches[0]
