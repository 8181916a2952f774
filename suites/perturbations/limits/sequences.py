"""The limits of the excuses for a repeated or missing sequence: facts that the client did not know yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence, Operation, view
from harness.model.rows import Frame, FrameKind, ProducePart
from harness.model.verdicts import Outcome
from harness.plugins.perturbation import Perturbation
from suites.analysis.promises import EXACTLY_ONCE
from suites.perturbations.batches import BEHIND_NS, other_crc, pair, sent_once_more
from suites.perturbations.edits import with_frames, with_frames_added, with_results
from suites.perturbations.exchanges import Batch, Spot, answer_to, asked, in_calm, request_of, settled
from suites.perturbations.limits.scene import ELSEWHERE, refusal
from suites.perturbations.perturbation import channels
from suites.perturbations.producer_ids import Numbers, renumbered

REUSED, GAP = ("sequence-reused",), ("sequence-gap",)
NOT_ENOUGH_REPLICAS, TOO_LARGE, AFTER_APPEND = 19, 10, 20
EXPIRED = "TimeoutException"
Pair = tuple[Spot, Spot]


def _numbered(evidence: Evidence) -> dict[Spot, Batch]:
    return {spot: each for spot, each in settled(evidence).items() if each.records[0].producer_id >= 0}


def _later(evidence: Evidence) -> list[Spot]:
    """Return numbered batches that are not the first of their partition."""
    return [spot for spot, batch in _numbered(evidence).items() if batch.records[0].sequence > 0]


def given_away(code: int, is_known: bool) -> Callable[[Evidence, Spot], Evidence]:
    """Return a perturbation in which other records are sent first under the numbers of a batch, and are refused.

    The answer passes before the batch is sent if it ``is_known`` by then, and otherwise when the batch has
    its own.
    """

    def apply(evidence: Evidence, spot: Spot) -> Evidence:
        batch = settled(evidence)[spot]
        request, answer = request_of(evidence, batch), answer_to(evidence, batch)
        own = asked(evidence, batch.exchange)
        wrong = changed(own, records=(own.records or 0) + 1, crc=other_crc(own.crc))
        told = refusal(wrong, code)
        asks, tells = pair(evidence, request, answer, wrong, told, -BEHIND_NS)
        if is_known:
            tells = changed(tells, t_ns=asks.t_ns + 1)
            return with_frames_added(evidence, [asks, tells])
        conn = max(frame.conn for frame in (*evidence.frames, *evidence.blocked_frames)) + 1
        hello = [row for row in evidence.frames if row.conn == request.conn and row.t_ns < asks.t_ns]
        first = changed(hello[0], conn=conn, t_ns=asks.t_ns - 1)
        last = changed(first, kind=FrameKind.CLOSE, closed_by="client", t_ns=answer.t_ns + 2 * BEHIND_NS)
        rows = [first, asks, changed(tells, t_ns=answer.t_ns + BEHIND_NS), last]
        return with_frames_added(evidence, [changed(row, conn=conn) for row in rows])

    return apply


def _from_zero(evidence: Evidence, spot: Spot) -> Evidence:
    """From a batch on, the sequences of its partition begin at 0 again, under the same epoch."""
    base = asked(evidence, settled(evidence)[spot].exchange).base_sequence or 0

    def numbers(_: int, part: ProducePart) -> Numbers | None:
        if part.partition != spot[0] or (part.base_sequence or 0) < base:
            return None
        return part.producer_id or 0, part.producer_epoch or 0, (part.base_sequence or 0) - base

    return renumbered(evidence, numbers)


@view
def _young(evidence: Evidence) -> dict[Spot, int]:
    """Map numbered batches to the time right before their last record was handed over, if their connection was idle."""
    found = {}
    for spot, batch in _numbered(evidence).items():
        at_ns = max(send.invoke_ns for send in batch.sends) - BEHIND_NS
        conn = request_of(evidence, batch).conn
        rows = [row for row in evidence.frames if row.conn == conn]
        waiting = sum(row.kind is FrameKind.REQUEST for row in rows if row.t_ns <= at_ns) - sum(
            row.kind is FrameKind.RESPONSE for row in rows if row.t_ns <= at_ns
        )
        if rows[0].t_ns < at_ns and waiting == 0 and in_calm(evidence, batch):
            found[spot] = at_ns
    return found


def _to_younger(evidence: Evidence, spot: Spot) -> Evidence:
    """A batch is refused in doubt, and another with as many records, one of them new, has its numbers."""
    batch, at_ns = settled(evidence)[spot], _young(evidence)[spot]
    own = asked(evidence, batch.exchange)
    other = changed(own, crc=other_crc(own.crc))
    told = refusal(other, AFTER_APPEND)
    rows = pair(evidence, request_of(evidence, batch), answer_to(evidence, batch), other, told)
    return with_frames_added(
        evidence, [changed(row, t_ns=at_ns + n, received_ns=None) for n, row in enumerate(rows)]
    )


def _gap(evidence: Evidence, spot: Spot) -> Evidence:
    """From a batch on, its partition's sequences are higher by one, on the wire and in the log."""
    base = asked(evidence, settled(evidence)[spot].exchange).base_sequence or 0

    def numbers(_: int, part: ProducePart) -> Numbers | None:
        if part.partition != spot[0] or (part.base_sequence or 0) < base:
            return None
        return part.producer_id or 0, part.producer_epoch or 0, (part.base_sequence or 0) + 1

    return renumbered(evidence, numbers)


def _ended(send: Operation) -> Operation:
    """Return a result in doubt: the record may be in the log, and it is."""
    ended: Operation = changed(send, outcome=Outcome.INFO, offset=-1, error=EXPIRED)
    return ended


def _with_ended(evidence: Evidence, place: Pair) -> Evidence:
    """A sequence number is skipped before the first of two batches, and a record of the second has no success."""
    return with_results(_gap(evidence, place[0]), [_ended(settled(evidence)[place[1]].sends[0])])


def _all_ended(evidence: Evidence) -> bool:
    return any(send.outcome is not Outcome.OK for send in evidence.operations.values())


def _pairs(holds: Callable[[Evidence, Batch, Batch], bool]) -> Callable[[Evidence], list[Pair]]:
    """Return a function that finds a later batch of a partition and another one for which ``holds``.

    Every record of the trial must have succeeded.
    """

    def places(evidence: Evidence) -> list[Pair]:
        if _all_ended(evidence):
            return []
        batches = _numbered(evidence)
        found = []
        for spot in _later(evidence):
            other = next((each for each in batches.values() if holds(evidence, batches[spot], each)), None)
            if other is not None:
                found.append((spot, other.spot))
        return found

    return places


def _is_elsewhere(_: Evidence, batch: Batch, other: Batch) -> bool:
    return other.partition != batch.partition and other.sends[0].partition >= 0


def _is_younger(evidence: Evidence, batch: Batch, other: Batch) -> bool:
    """True for a batch of the partition whose first record was handed over after the other batch was sent."""
    sent_ns = request_of(evidence, batch).arrived_ns
    return other.partition == batch.partition and min(send.invoke_ns for send in other.sends) > sent_ns


def _unread_elsewhere(evidence: Evidence, spot: Spot) -> Evidence:
    """A sequence number is skipped, and unreadable bytes pass to another broker."""
    left_out = _gap(evidence, spot)
    known = next(frame for frame in evidence.frames if frame.kind is FrameKind.OPEN)
    own: dict[str, Any] = {"conn": max(row.conn for row in evidence.frames) + 1, "broker": ELSEWHERE}
    at_ns = max(known.t_ns, request_of(evidence, settled(evidence)[spot]).t_ns)
    rows: list[Frame] = [
        changed(known, t_ns=at_ns + 1, **own),
        changed(known, t_ns=at_ns + 2, kind=FrameKind.OPAQUE, note="not Kafka", **own),
        changed(known, t_ns=at_ns + 3, kind=FrameKind.CLOSE, closed_by="client", **own),
    ]
    return with_frames(left_out, (*left_out.frames, *rows))


def _stored_again(evidence: Evidence, spot: Spot) -> Evidence:
    """A batch is stored once more under the next sequences of its epoch."""
    batch = settled(evidence)[spot]
    return sent_once_more(evidence, batch.records, batch)


def _refused_places(evidence: Evidence) -> list[Spot]:
    """Return numbered batches of calm times."""
    batches = _numbered(evidence)
    return [spot for spot in batches if in_calm(evidence, batches[spot])]


def _kind(
    name: str,
    defect: str,
    places: Callable[[Evidence], list[Pair]] | Callable[[Evidence], list[Spot]],
    apply: Callable[[Evidence, Pair], Evidence] | Callable[[Evidence, Spot], Evidence],
    caught_by: tuple[str, ...],
    changes: tuple[str, ...] = ("frames",),
) -> Perturbation:
    return Perturbation(name, channels(*changes), defect, caught_by, places, apply, guarantees=EXACTLY_ONCE)


WITH_LOG = ("frames", "log")
EVERYWHERE = ("frames", "log", "history")

PERTURBATIONS = (
    _kind(
        "numbers-given-away-in-doubt",
        "gives the numbers of a batch to another one after an error that leaves open whether it was stored",
        _refused_places,
        given_away(AFTER_APPEND, is_known=True),
        REUSED,
    ),
    _kind(
        "numbers-given-away-before-refusal",
        "gives the numbers of a batch to another one before that batch is certainly refused",
        _refused_places,
        given_away(NOT_ENOUGH_REPLICAS, is_known=False),
        REUSED,
    ),
    _kind(
        "numbers-given-away-before-too-large",
        "gives the numbers of a batch to another one before that batch is refused for its size",
        _refused_places,
        given_away(TOO_LARGE, is_known=False),
        REUSED,
    ),
    _kind(
        "numbers-given-to-younger-records",
        "gives the numbers of a batch in doubt to as many records, one of which was handed over later",
        lambda evidence: list(_young(evidence)),
        _to_younger,
        REUSED,
    ),
    _kind(
        "sequence-from-zero-in-its-epoch",
        "begins at sequence 0 again without raising its epoch",
        _later,
        _from_zero,
        REUSED,
        WITH_LOG,
    ),
    _kind(
        "sequence-changed-in-its-epoch",
        "stores a batch once more under other sequences of the same epoch",
        lambda evidence: list(_numbered(evidence)),
        _stored_again,
        ("sequence-changed",),
        EVERYWHERE,
    ),
    _kind(
        "sequence-gap-beside-failed-elsewhere",
        "skips a sequence number, while a record of another partition fails",
        _pairs(_is_elsewhere),
        _with_ended,
        GAP,
        EVERYWHERE,
    ),
    _kind(
        "sequence-gap-before-failed",
        "skips a sequence number before a record is handed over that fails",
        _pairs(_is_younger),
        _with_ended,
        GAP,
        EVERYWHERE,
    ),
    _kind(
        "sequence-gap-beside-unread-elsewhere",
        "skips a sequence number, while unreadable bytes pass to another broker",
        lambda evidence: [] if _all_ended(evidence) else _later(evidence),
        _unread_elsewhere,
        GAP,
        WITH_LOG,
    ),
)
