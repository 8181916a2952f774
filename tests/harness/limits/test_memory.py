"""Memory limits of stored rows: the estimate comes first, suffices for long trials, and is the same on reading."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.adapter.trace_file import read as read_trace
from harness.limits.memory import A_BYTE, A_VALUE, A_VERDICT, Crowded, Room, needed
from harness.limits.meter import EVIDENCE, Limit, Meter, OverLimit
from harness.model import payload
from harness.model.errors import UsageError
from harness.model.evidence import Evidence
from harness.model.spec import ClientRef, Plan, TrialSpec, Workload
from harness.model.verdicts import Guarantee, Verdict
from harness.planning import validate_plan
from harness.plugins import registry
from harness.running.defects import CODE as DEFECT
from harness.running.trial_runner import Execution, rejudge
from harness.simulated.trial import SimulatedTrial
from harness.storage.run_store import RunRecord, RunStore
from harness.workloads.produce.profile import producer_config
from testkit.codes import raises_code

pytestmark = pytest.mark.long("stores and reads as much as memory allows")

documents = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
)


def values(document: Any) -> int:
    inner = (
        document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    )
    return 1 + sum(map(values, inner))


@given(st.lists(st.dictionaries(st.text(max_size=3), documents, max_size=3), max_size=5))
def test_the_estimate_counts_every_value(rows: list[Any]) -> None:
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    assert needed(data) >= A_VALUE * sum(map(values, rows)) + A_BYTE * len(data)


def test_a_room_refuses_what_exceeds_its_limit() -> None:
    row = b'{"a":1}'
    room = Room(2 * needed(row))
    room.take(row)
    with raises_code(Crowded, "memory-exceeded"):
        room.take(b'{"a":1,"b":2}')
    room.take(row)
    assert room.left_bytes == 0


def spec(**workload: int) -> TrialSpec:
    client = ClientRef("reference", registry.client("reference").default_version)
    config = producer_config(Guarantee.IDEMPOTENT, {})
    load = Workload(**workload)
    validate_plan.check_workload(trial := TrialSpec(
        "t", client, "scripted:4.3.1x1", "generated/any", Guarantee.IDEMPOTENT, 1, load, (), config
    ))  # fmt: skip
    return trial


def stored(tmp_path, evidence: Evidence) -> RunStore:
    plan = Plan(1, (evidence.record.spec,))
    store = RunStore.create(tmp_path, RunRecord("run", "2026-01-01T00:00:00+00:00", plan, 1, {}, []))
    store.write_evidence(evidence)
    return store


@pytest.mark.parametrize(
    "workload",
    [
        {},
        {"records": 10_000, "records_per_command": 100, "interval_ms": 400},
        {"records": 70_000, "records_per_command": 350},
        {"records": 2_400, "records_per_command": 1, "interval_ms": 250},
        {"records": 36_000, "records_per_command": 350, "value_bytes": payload.SHORT_BYTES},
        {"records": 300, "value_bytes": 100_000},
    ],
    ids=[
        "ordinary",
        "long",
        "as large as may be",
        "ten minutes, a request a record",
        "as many values kept whole as may be",
        "values kept short",
    ],
)
def test_the_evidence_of_an_honest_client_is_read_back(tmp_path, workload):
    evidence = SimulatedTrial(spec(**workload), "run").run()
    again = stored(tmp_path, evidence).read_evidence("t")
    assert again == replace(evidence, trace=again.trace)
    assert len(again.trace) == len(evidence.trace) > 0


def test_frames_of_ten_minutes_are_read_back(tmp_path):
    """A client without a trace sends twenty requests per second, each of three partitions."""
    evidence = replace(SimulatedTrial(spec(), "run").run(), trace=())
    part = next(frame for frame in evidence.frames if frame.produce)
    frame = msgspec.structs.replace(part, produce=part.produce[:1] * 3)
    long = replace(evidence, frames=(frame,) * 24_000)
    assert len(stored(tmp_path, long).read_evidence("t").frames) == 24_000


def test_a_load_with_too_much_evidence_is_not_planned():
    with raises_code(UsageError, "evidence-too-large", trial="t"):
        spec(records=80_000, records_per_command=1_000)
    with raises_code(UsageError, "evidence-too-large"):
        spec(records=50_000, value_bytes=1_000)


def test_evidence_over_the_limit_is_not_stored(tmp_path):
    evidence = SimulatedTrial(spec(), "run").run()
    store = RunStore(stored(tmp_path, evidence).folder, Limit("evidence", EVIDENCE.what, 100_000))
    with raises_code(OverLimit, "over-limit", most=100000):
        store.write_evidence(evidence)
    verdict = Execution(store, {}).conclude(evidence)
    assert (verdict.verdict, verdict.code) == (Verdict.HARNESS_ERROR, "over-limit")
    assert verdict.code != DEFECT and "100,000" in verdict.reason
    assert store.read_evidence("t").history == ()


def test_a_trace_of_empty_rows_exceeds_the_limit(tmp_path):
    """The file is small, but its three million empty objects take much more memory."""
    trace = tmp_path / "own" / "trace"
    trace.parent.mkdir()
    trace.write_bytes(b"{}\n" * 3_000_000)
    with raises_code(OverLimit, "over-limit", client="c"):
        read_trace(trace, Meter("c", 2_400))


def test_verdicts_share_one_limit(tmp_path):
    store = RunStore(stored(tmp_path, SimulatedTrial(spec(), "run").run()).folder, verdicts_bytes=0)
    path = store.trial_folder("t") / "verdict.json"
    path.touch()
    [verdict] = rejudge(store)
    assert needed(path.read_bytes()) < A_VERDICT / 3
    assert list(store.verdicts()) == [verdict]
    path.write_bytes(path.read_bytes() + b" " * A_VERDICT)
    assert [each.verdict for each in store.verdicts()] == [Verdict.HARNESS_ERROR]


def test_long_values_are_not_cached():
    identity = payload.Identity("run", "trial", "p1", 7)
    for size_bytes in (5_000, 100_000):
        value = payload.encode(identity, size_bytes)
        assert payload.decode(value) == identity
        assert payload.decode(value) is not payload.decode(value)
    short = payload.encode(identity, 100)
    assert payload.decode(short) is payload.decode(short)
