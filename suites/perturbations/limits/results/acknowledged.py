"""The limits of the excuses for an acknowledgement: for a batch whose answer was an error."""

from __future__ import annotations

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.rows import Frame, FrameKind
from suites.analysis.promises import EXACTLY_ONCE
from suites.perturbations.batches import answered_with, numbered, pair, spots
from suites.perturbations.edits import with_frames_added
from suites.perturbations.exchanges import Spot, answer_to, asked, request_of, settled
from suites.perturbations.limits.results.afterwards import Pair, limit, successive
from suites.perturbations.limits.scene import ELSEWHERE, refusal

#: DUPLICATE_SEQUENCE_NUMBER, and NOT_ENOUGH_REPLICAS_AFTER_APPEND.
DUPLICATE_SEQUENCE, AFTER_APPEND = 46, 20


def _duplicate_of_another(evidence: Evidence, place: Pair) -> Evidence:
    """A batch is refused and acknowledged. The broker had called the batch before it a duplicate."""
    ahead, batch = (settled(evidence)[spot] for spot in place)
    part = asked(evidence, ahead.exchange)
    frames = pair(
        evidence,
        request_of(evidence, batch),
        answer_to(evidence, batch),
        part,
        refusal(part, DUPLICATE_SEQUENCE),
        -1,
    )
    return with_frames_added(answered_with(evidence, batch.exchange, AFTER_APPEND), frames)


def _numbered_pairs(evidence: Evidence) -> list[Pair]:
    batches = settled(evidence)
    return [
        place
        for place in successive(evidence)
        if all(numbered(evidence, batches[spot]) for spot in place)
        and request_of(evidence, batches[place[0]]).t_ns < request_of(evidence, batches[place[1]]).t_ns
    ]


def _refused_for_unread(evidence: Evidence, spot: Spot) -> Evidence:
    """A batch is refused and acknowledged. A connection to another broker has unreadable bytes."""
    batch = settled(evidence)[spot]
    known = next(frame for frame in evidence.frames if frame.kind is FrameKind.OPEN)
    conn = max(frame.conn for frame in (*evidence.frames, *evidence.blocked_frames)) + 1
    at_ns = request_of(evidence, batch).t_ns
    own = {"conn": conn, "broker": ELSEWHERE}
    rows: list[Frame] = [
        changed(known, t_ns=at_ns - 2, **own),
        changed(known, t_ns=at_ns - 1, kind=FrameKind.OPAQUE, size_bytes=3, note="not Kafka", **own),
        changed(known, t_ns=at_ns, kind=FrameKind.CLOSE, closed_by="client", **own),
    ]
    return with_frames_added(answered_with(evidence, batch.exchange, AFTER_APPEND), rows)


PERTURBATIONS = (
    limit(
        "ack-of-another-duplicate",
        "takes DUPLICATE_SEQUENCE_NUMBER for one batch as the acknowledgement of the next",
        _duplicate_of_another,
        _numbered_pairs,
        ("early-ack",),
        ("frames",),
        guarantees=EXACTLY_ONCE,
    ),
    limit(
        "ack-beside-unread-elsewhere",
        "acknowledges a refused batch, while unreadable bytes pass to another broker",
        _refused_for_unread,
        spots(),
        ("early-ack",),
        ("frames",),
    ),
)
