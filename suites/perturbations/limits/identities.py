"""The limits of the excuses for a changed producer id or epoch: failures and stalls at another time or place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from msgspec.structs import replace as changed

from harness.model.contract import Stats
from harness.model.evidence import Evidence
from harness.model.rows import Frame, FrameKind, ProducePart
from harness.model.units import NS_PER_MS
from harness.plugins.perturbation import Perturbation
from suites.analysis.promises import EXACTLY_ONCE
from suites.perturbations.batches import followers
from suites.perturbations.edits import inserted_id, with_frames, with_frames_added
from suites.perturbations.exchanges import Spot, asked, calm, exchanges, request_of, settled
from suites.perturbations.limits.scene import MORE_MS, Stage, beats, openings, refusal, timeout_ms
from suites.perturbations.perturbation import channels
from suites.perturbations.producer_ids import INVENTED_ID, Numbers, renumbered

INIT = "InitProducerId"
CHANGED, INVENTED = ("identity-changed",), ("identity-invented",)
NOT_LEADER = 6
#: How long the check lets a client react to a failure, in addition to its request timeout.
GRACE_MS = 5_000
BEFORE_LAST_EPOCH = 32_766
STALL_MS = 3_000
SOON_NS = NS_PER_MS // 10

Pair = tuple[Spot, Spot]


def _long_ms(evidence: Evidence) -> int:
    return timeout_ms(evidence) + GRACE_MS + MORE_MS


def _from(evidence: Evidence, spot: Spot, begin: Callable[[ProducePart], tuple[int, int]]) -> Evidence:
    """From a batch on, its partition uses another producer id or epoch, and its sequences begin at 0."""
    first = asked(evidence, settled(evidence)[spot].exchange)
    base = first.base_sequence or 0

    def numbers(_: int, part: ProducePart) -> Numbers | None:
        if part.partition != spot[0] or (part.base_sequence or 0) < base:
            return None
        return *begin(part), (part.base_sequence or 0) - base

    return renumbered(evidence, numbers)


def _raised(evidence: Evidence, spot: Spot) -> Evidence:
    """From a batch on, its partition uses the next epoch."""
    return _from(evidence, spot, lambda part: (part.producer_id or 0, (part.producer_epoch or 0) + 1))


def _numbered(evidence: Evidence, spot: Spot) -> bool:
    return settled(evidence)[spot].records[0].producer_id >= 0


def _peaceful(evidence: Evidence, since_ns: int, until_ns: int) -> bool:
    """True if no connection ended, no request was refused or late, and no fault began in this interval."""
    rows = (frame for frame in evidence.frames if since_ns <= frame.t_ns <= until_ns)
    begun = (row.effective_ns[0] for row in evidence.faults if row.effective_ns is not None)
    sent_ns = [evidence.frames[each.request].t_ns for each in exchanges(evidence) if each.answer is None]
    return (
        not any(row.kind is FrameKind.CLOSE or row.error_codes for row in rows)
        and not any(since_ns <= at_ns <= until_ns for at_ns in begun)
        and not any(since_ns <= at_ns <= until_ns for at_ns in sent_ns)
    )


def _pairs(evidence: Evidence) -> list[Pair]:
    """Return numbered batches before which a pause is possible, each with the next one of its partition.

    Nothing fails between the two. A pause before the first heartbeat of a client that sends heartbeats is a
    time in which its process did not run.
    """
    known, batches = openings(evidence), settled(evidence)
    tells = any(isinstance(event, Stats) for event in evidence.history)
    usable = set(beats(evidence)) if tells else set(known)
    return [
        (one, other)
        for one, other in followers(evidence, batches)
        if one in usable
        and _numbered(evidence, other)
        and _peaceful(evidence, known[one], request_of(evidence, batches[other]).t_ns)
    ]


def _beating(evidence: Evidence) -> list[Pair]:
    """Return the same pairs, if the client sends heartbeats before."""
    known = set(beats(evidence))
    return [place for place in _pairs(evidence) if place[0] in known]


def _long_after_failure(evidence: Evidence, place: Pair) -> Evidence:
    """A batch is refused, waits, and is stored. The next one of its partition uses another epoch."""
    stage = Stage(evidence, place[0])
    sent = asked(evidence, stage.batch.exchange)
    frames = stage.exchange(sent, refusal(sent, NOT_LEADER), 0, 1)
    waited = with_frames_added(stage.pause(_long_ms(evidence)), frames)
    return _raised(waited, place[1])


def _long_after_stall(evidence: Evidence, place: Pair) -> Evidence:
    """The client's process does not run for a while, long before its epoch changes."""
    stage = Stage(evidence, place[0])
    waited = stage.pause(STALL_MS + _long_ms(evidence))
    return _raised(stage.stalled(waited, 0, STALL_MS), place[1])


def _before_failure(evidence: Evidence, spot: Spot) -> Evidence:
    """The first batch of another epoch is followed by a request that a broker refuses."""
    request = request_of(evidence, settled(evidence)[spot])
    told = tuple([refusal(part, NOT_LEADER) for part in request.produce])
    own = {"correlation_id": inserted_id(evidence), "received_ns": None, "fault": None, "disposition": None}
    asks: Frame = changed(request, t_ns=request.t_ns + SOON_NS, **own)
    tells = changed(
        asks,
        kind=FrameKind.RESPONSE,
        t_ns=request.t_ns + 2 * SOON_NS,
        produce=told,
        error_codes=(NOT_LEADER,),
    )
    raised = _raised(evidence, spot)
    return with_frames_added(raised, [changed(asks, produce=_parts(raised, request)), tells])


def _parts(evidence: Evidence, request: Frame) -> tuple[ProducePart, ...]:
    """Return what a request carries now."""
    same = (request.conn, request.correlation_id, FrameKind.REQUEST)
    rows = (row for row in evidence.frames if (row.conn, row.correlation_id, row.kind) == same)
    return next(rows).produce


def _after_hang_up(evidence: Evidence, place: Pair) -> Evidence:
    """The client closes a connection that never carried a batch, and then its epoch changes."""
    stage = Stage(evidence, place[0])
    waited = stage.pause(_long_ms(evidence))
    left_ms = _long_ms(evidence) - MORE_MS
    return _raised(with_frames_added(waited, stage.connection(left_ms - 10, left_ms, stage.conn)), place[1])


def _calm(evidence: Evidence) -> list[Spot]:
    """Return numbered batches of calm times, except the first of a partition, which has no previous identity."""
    return [
        spot
        for spot, batch in calm(evidence).items()
        if _numbered(evidence, spot) and batch.records[0].sequence > 0 and _is_undisturbed(evidence, spot)
    ]


def _is_undisturbed(evidence: Evidence, spot: Spot) -> bool:
    """True if nothing failed before the batch that a client could react to."""
    return _peaceful(evidence, 0, request_of(evidence, settled(evidence)[spot]).t_ns)


def _before_last_epoch(evidence: Evidence, spot: Spot) -> Evidence:
    """The epoch could be raised once more, but the partition uses another producer id, which a broker assigned."""
    late = renumbered(
        evidence, lambda _, part: (part.producer_id or 0, BEFORE_LAST_EPOCH, part.base_sequence or 0)
    )
    given = _given(late, request_of(evidence, settled(evidence)[spot]).t_ns - 2 * SOON_NS)
    return _from(given, spot, lambda _: (INVENTED_ID, 0))


def _inits(evidence: Evidence) -> list[Frame]:
    return [frame for frame in evidence.frames if frame.api == INIT and not frame.error_codes]


def _given(evidence: Evidence, at_ns: int) -> Evidence:
    """A broker assigns one more producer id."""
    asks, tells = (
        next(row for row in _inits(evidence) if row.kind is kind)
        for kind in (FrameKind.REQUEST, FrameKind.RESPONSE)
    )
    own = {"correlation_id": inserted_id(evidence), "received_ns": None, "fault": None, "disposition": None}
    tells = changed(tells, conn=asks.conn, broker=asks.broker, lane=asks.lane)
    return with_frames_added(
        evidence, [changed(asks, t_ns=at_ns, **own), changed(tells, t_ns=at_ns + SOON_NS, **own)]
    )


def _with_init(evidence: Evidence) -> list[Spot]:
    is_given = {row.kind for row in _inits(evidence)} == {FrameKind.REQUEST, FrameKind.RESPONSE}
    return _calm(evidence) if is_given else []


def _given_later(evidence: Evidence, spot: Spot) -> Evidence:
    """The partition uses a producer id that no broker assigned, and a broker assigns one afterwards."""
    at_ns = request_of(evidence, settled(evidence)[spot]).t_ns + SOON_NS
    invented = _from(evidence, spot, lambda _: (INVENTED_ID, 0))
    return _given(invented, at_ns)


def _unread_later(evidence: Evidence, spot: Spot) -> Evidence:
    """The same, and unreadable bytes pass afterwards."""
    invented = _from(evidence, spot, lambda _: (INVENTED_ID, 0))
    batch = request_of(evidence, settled(evidence)[spot])
    conn = max(frame.conn for frame in (*evidence.frames, *evidence.blocked_frames)) + 1
    known = next(frame for frame in evidence.frames if frame.kind is FrameKind.OPEN)
    begin_ns = max(batch.t_ns, known.t_ns) + SOON_NS
    ends = [
        (FrameKind.OPEN, None, None),
        (FrameKind.OPAQUE, "not Kafka", None),
        (FrameKind.CLOSE, None, "client"),
    ]
    rows = [
        changed(known, kind=kind, note=note, closed_by=by, conn=conn, t_ns=begin_ns + n, correlation_id=None)
        for n, (kind, note, by) in enumerate(ends)
    ]
    return with_frames(replace(invented), (*invented.frames, *rows))


def _kind(
    name: str,
    defect: str,
    places: Callable[[Evidence], list[Pair]] | Callable[[Evidence], list[Spot]],
    apply: Callable[[Evidence, Pair], Evidence] | Callable[[Evidence, Spot], Evidence],
    caught_by: tuple[str, ...] = CHANGED,
    also: tuple[str, ...] = (),
) -> Perturbation:
    changes = channels("frames", "log", *also)
    return Perturbation(name, changes, defect, caught_by, places, apply, guarantees=EXACTLY_ONCE)


PERTURBATIONS = (
    _kind(
        "new-epoch-long-after-failure",
        "raises its epoch when a refusal is longer ago than its request timeout and five seconds",
        _pairs,
        _long_after_failure,
        also=("history",),
    ),
    _kind(
        "new-epoch-before-failure",
        "raises its epoch right before a request is refused",
        _calm,
        _before_failure,
    ),
    _kind(
        "new-epoch-after-idle-hang-up",
        "raises its epoch after it closed a connection that never carried a batch",
        _pairs,
        _after_hang_up,
        also=("history",),
    ),
    _kind(
        "new-epoch-long-after-stall",
        "raises its epoch when a stall of its process is longer ago than its request timeout and five seconds",
        _beating,
        _long_after_stall,
        also=("history",),
    ),
    _kind(
        "new-id-before-last-epoch",
        "takes another producer id although its epoch could be raised once more",
        _with_init,
        _before_last_epoch,
    ),
    _kind(
        "id-given-afterwards",
        "uses a producer id that a broker assigns only afterwards",
        _with_init,
        _given_later,
        INVENTED,
    ),
    _kind(
        "invented-id-before-unread",
        "uses a producer id that no broker assigned, before unreadable bytes pass",
        _calm,
        _unread_later,
        INVENTED,
    ),
)
