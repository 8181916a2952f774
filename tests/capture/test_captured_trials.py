"""Real trials, seen by two: what the witness tells of the frames and what the kernel saw on the client's side agree."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from harness import registry
from harness.campaign import Campaign, install
from harness.capture.connections import connections
from harness.capture.crosscheck import compare
from harness.capture.pcapng import read
from harness.capture.rows import TcpFact
from harness.plan import make_plan
from harness.rows import FrameKind
from harness.spec import ClientRef, Elapsed, FaultSpec, FrameMatch, FrameSeen, Workload
from harness.store import CAPTURE, TCP, RunRecord, RunStore, read_rows

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("may_capture")]

LOAD = Workload(records=400, chunk=20, interval_ms=50)
LOST = FaultSpec("dropped_frame", Elapsed(0), 1_000, frames=FrameMatch("Produce", first=3))
#: Longer upstream than the time between two commands, so that something is under way when the connection is cut.
BED = FaultSpec("latency", Elapsed(100), 900, {"upstream_ms": 200, "downstream_ms": 100})
CUT = FaultSpec("disconnect", FrameSeen("Produce", "request", nth=2, after_ms=300), 100)


@pytest.fixture
def tried(tmp_path, monkeypatch):
    """From a scenario's name and its faults to the store of one trial of the reference client."""

    def tried(name: str, *faults: FaultSpec) -> RunStore:
        scenario = replace(registry.scenario(name), workload=LOAD, schedule=lambda _: faults)
        monkeypatch.setattr(registry, "scenario", lambda _: scenario)
        client = ClientRef("reference", registry.client("reference").default_version)
        plan = make_plan([scenario], [client], ["local:4.3.1x1"], [7])
        record = RunRecord("run", "", type(plan)(7, plan.trials[:1]), 1, {}, [], capture=True)
        store = RunStore.create(tmp_path, record)
        asyncio.run(Campaign(store, install([client]), 1, lambda _: None, lambda _: None).run())
        return store

    return tried


def both(store: RunStore):
    """The evidence, the connections of the capture, and how they compare."""
    [verdict] = store.verdicts()
    assert verdict.verdict == "pass", verdict.reason
    evidence = store.read_evidence(verdict.trial)
    capture = evidence.record.capture
    assert (capture.lacks, capture.dropped, capture.cut) == (None, 0, 0)
    captured = connections(read(store.trial_folder(verdict.trial) / CAPTURE))
    found = compare((*evidence.frames, *evidence.stopped), captured)
    assert found.disagreements == ()
    assert found.gaps == 0
    return evidence, captured, found


def test_an_answer_that_a_rule_stopped_is_the_one_that_the_client_never_got(tried):
    evidence, captured, found = both(tried("frame/lost-answer", LOST))
    [stopped] = evidence.stopped
    assert (found.ruled, found.cut_off) == (1, 0)
    assert found.agreed == sum(row.kind in (FrameKind.REQUEST, FrameKind.RESPONSE) for row in evidence.frames)
    answers = [one.correlation_id for each in captured for one in each.responses]
    assert stopped.correlation_id not in answers
    assert stopped.correlation_id in [one.correlation_id for each in captured for one in each.requests]
    _in_the_order_of_time(evidence, captured)


def test_a_disconnect_is_told_by_tcp_itself(tried):
    store = tried("produce/disconnect", BED, CUT)
    evidence, captured, found = both(store)
    assert found.connections >= 2
    facts = read_rows(store.trial_folder(evidence.record.spec.trial) / TCP, TcpFact)
    _, fault = evidence.faults
    ended = [fact for fact in facts if fact.what in ("fin", "rst") and fact.by == "proxy"]
    assert any(fault.effective_ns[0] < fact.t_ns < fault.effective_ns[1] for fact in ended)
    assert any(one.was_cut for one in captured)


def _in_the_order_of_time(evidence, captured) -> None:
    """A request is captured before the witness has it, an answer behind it: the two clocks are one."""
    passed = {
        (row.kind, row.correlation_id, row.size_bytes): row.t_ns
        for row in evidence.frames
        if row.kind in (FrameKind.REQUEST, FrameKind.RESPONSE)
    }
    pairs = [
        (passed.get((kind, one.correlation_id, one.size_bytes)), one.t_ns, kind)
        for each in captured
        for kind, side in ((FrameKind.REQUEST, each.requests), (FrameKind.RESPONSE, each.responses))
        for one in side
    ]
    known = [(witness_ns, t_ns, kind) for witness_ns, t_ns, kind in pairs if witness_ns is not None]
    assert len(known) >= 20
    assert all((t_ns < witness_ns) == (kind is FrameKind.REQUEST) for witness_ns, t_ns, kind in known)
