"""Requests that are too late: after close has returned, or after the records were reported as expired."""

from __future__ import annotations

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.rows import FrameKind
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.analysis.promises import DURABLE
from suites.perturbations.batches import spots
from suites.perturbations.calls import completed
from suites.perturbations.edits import ended, inserted_id, refusing, with_frames_added, with_results
from suites.perturbations.exchanges import Batch, Spot, asked, opening, request_of, settled
from suites.perturbations.pauses import paused
from suites.perturbations.perturbation import channels

#: NOT_LEADER_OR_FOLLOWER.
NOT_LEADER = 6
#: Longer than any latency delays requests that were sent before.
AFTER_CLOSE_NS = 15_000 * NS_PER_MS


def _after_close(evidence: Evidence, spot: Spot) -> Evidence:
    """After close() has returned, a request for a batch is sent again and refused, on a separate connection."""
    closed = completed(evidence, "close")
    assert closed is not None
    batch = settled(evidence)[spot]
    request, sent = request_of(evidence, batch), asked(evidence, batch.exchange)
    later = paused(evidence, closed.mono_ns + 1, AFTER_CLOSE_NS + 1_000 * NS_PER_MS)
    conn = max(frame.conn for frame in (*evidence.frames, *evidence.blocked_frames)) + 1
    at_ns = closed.mono_ns + AFTER_CLOSE_NS
    own = {"conn": conn, "received_ns": None, "fault": None, "disposition": None}
    hello = [
        changed(frame, t_ns=at_ns - (len(opening(evidence)) - n) * NS_PER_MS, **own)
        for n, frame in enumerate(opening(evidence))
    ]
    sent_late = changed(request, t_ns=at_ns, produce=(sent,), correlation_id=inserted_id(evidence), **own)
    answer = refusing(sent_late, NOT_LEADER, t_ns=at_ns + NS_PER_MS)
    end = changed(
        opening(evidence)[0], kind=FrameKind.CLOSE, closed_by="client", t_ns=at_ns + 2 * NS_PER_MS, **own
    )
    return with_frames_added(later, [*hello, sent_late, answer, end])


def _closes(evidence: Evidence, _: Batch) -> bool:
    return completed(evidence, "close") is not None and len(opening(evidence)) > 0


def _sent_after_failure(evidence: Evidence, spot: Spot) -> Evidence:
    """The records of a batch are reported as expired 300 ms before the batch is sent for the first time."""
    batch = settled(evidence)[spot]
    sent_ns = request_of(evidence, batch).t_ns
    told_ns = sent_ns - 300 * NS_PER_MS
    expired = [ended(send, max(send.invoke_ns + 1, told_ns), "TimeoutException") for send in batch.sends]
    return with_results(evidence, expired)


def _waited_long(evidence: Evidence, batch: Batch) -> bool:
    sent_ns = request_of(evidence, batch).t_ns
    return all(sent_ns - send.invoke_ns > 400 * NS_PER_MS for send in batch.sends)


PERTURBATIONS = (
    Perturbation(
        "sent-after-close",
        channels("frames", "history"),
        "sends a request after its close has returned",
        ("sent-after-close",),
        spots(_closes),
        _after_close,
    ),
    Perturbation(
        "sent-after-expiry",
        channels("history"),
        "sends a batch for the first time after it has reported its records as expired",
        ("sent-after-expiry", "gave-up", "gave-up-early"),
        spots(_waited_long),
        _sent_after_failure,
        verdict=Verdict.DIFFERS,
        guarantees=DURABLE,
    ),
)
