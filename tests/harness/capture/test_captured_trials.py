"""Real trials with two observers: the frames of the witness and the packets of the kernel agree.

If they disagree, the verdict of the trial reports it, also when it is judged again.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from harness.judging.crosscheck import crosscheck
from harness.model.rows import FrameKind
from harness.model.spec import AtTime, ClientRef, FaultSpec, FrameMatch, OnFrame, Workload
from harness.model.tcp_facts import By, What
from harness.planning.plan import make_plan
from harness.plugins import registry
from harness.running.campaign import Campaign
from harness.running.install import install
from harness.running.trial_runner import rejudge
from harness.storage.run_store import RunRecord, RunStore

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("may_capture")]

LOAD = Workload(records=400, records_per_command=20, interval_ms=50)
LOST = FaultSpec("dropped_frame", AtTime(0), 1_000, frames=FrameMatch("Produce", first=3))
#: The latency exceeds the time between two commands, so that data is in flight when the connection is cut.
BED = FaultSpec("latency", AtTime(100), 900, {"upstream_ms": 200, "downstream_ms": 100})
CUT = FaultSpec("disconnect", OnFrame("Produce", "request", nth=2, after_ms=300), 100)


@pytest.fixture
def tried(tmp_path):
    """Return a function that runs one trial of the reference client under a scenario's name and its faults."""

    def tried(name: str, *faults: FaultSpec) -> RunStore:
        scenario = replace(registry.scenario(name), workload=LOAD, schedule=lambda _: faults)
        client = ClientRef("reference", registry.client("reference").default_version)
        plan = make_plan([scenario], [client], ["local:4.3.1x1"], [7])
        record = RunRecord("run", "", type(plan)(7, plan.trials[:1]), 1, {}, [], capture=True)
        store = RunStore.create(tmp_path, record)
        with registry.replaced("scenarios", {name: scenario}):
            asyncio.run(Campaign(store, install([client]), 1, lambda _: None, lambda _: None).run())
        return store

    return tried


def both(store: RunStore):
    """Return the evidence, and the comparison of its observers."""
    [verdict] = store.verdicts()
    assert verdict.verdict == "pass", verdict.reason
    evidence = store.read_evidence(verdict.trial)
    capture = evidence.record.capture
    assert (capture.unavailable_reason, capture.dropped, capture.cut, capture.unread) == (None, 0, 0, 0)
    assert capture.frames == sum(row.what is What.FRAME for row in evidence.tcp) > 0
    found = crosscheck(evidence)
    assert found.disagreements == ()
    return evidence, found


def test_an_answer_stopped_by_a_rule_never_reaches_the_client(tried):
    store = tried("frame/lost-answer", LOST)
    evidence, found = both(store)
    [stopped] = evidence.blocked_frames
    assert (found.ruled, found.cut_off) == (1, 0)
    assert found.agreed == sum(row.kind in (FrameKind.REQUEST, FrameKind.RESPONSE) for row in evidence.frames)
    assert stopped.correlation_id not in [row.correlation_id for row in evidence.tcp if row.by is By.PROXY]
    assert stopped.correlation_id in [row.correlation_id for row in evidence.tcp if row.by is By.CLIENT]
    _assert_order_of_time(evidence)
    _assert_that_a_lost_row_is_found(store, evidence)


def test_a_disconnect_is_visible_in_the_tcp_facts(tried):
    store = tried("produce/disconnect", BED, CUT)
    evidence, found = both(store)
    assert found.connections >= 2
    _, fault = evidence.faults
    ended = [row for row in evidence.tcp if row.what in ("fin", "rst") and row.by is By.PROXY]
    assert any(fault.effective_ns[0] < row.t_ns < fault.effective_ns[1] for row in ended)


def _assert_that_a_lost_row_is_found(store, evidence) -> None:
    [before] = rejudge(store)
    assert before.verdict == "pass"
    lost = [row for row in evidence.frames if row.kind is FrameKind.REQUEST and row.api == "Produce"][2]
    store.write_evidence(replace(evidence, frames=tuple(row for row in evidence.frames if row is not lost)))
    [after] = rejudge(store)
    assert after.verdict == "harness-error"
    # The check of completeness comes first, and finds that the witness's own rows contradict each other.
    assert (after.code, after.params["lack"]) == ("frames-incomplete", "request-of-answer")


def _assert_order_of_time(evidence) -> None:
    """A request is captured before the witness has it, and an answer after it: both use the same clock."""
    passed = {
        (row.kind, row.correlation_id, row.size_bytes): row.t_ns
        for row in evidence.frames
        if row.kind in (FrameKind.REQUEST, FrameKind.RESPONSE)
    }
    kinds = {By.CLIENT: FrameKind.REQUEST, By.PROXY: FrameKind.RESPONSE}
    pairs = [
        (passed.get((kinds[row.by], row.correlation_id, row.size_bytes)), row.t_ns, kinds[row.by])
        for row in evidence.tcp
        if row.what is What.FRAME
    ]
    known = [(witness_ns, t_ns, kind) for witness_ns, t_ns, kind in pairs if witness_ns is not None]
    assert len(known) >= 20
    assert all((t_ns < witness_ns) == (kind is FrameKind.REQUEST) for witness_ns, t_ns, kind in known)
