"""Where the excuses of a bad result end: of records that are given up, late, or acknowledged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from msgspec.structs import replace as changed

from harness.contract import Stats
from harness.evidence import Evidence, Send, view
from harness.outcome import Guarantee, Outcome, Verdict
from harness.rows import FaultRow, Frame, FrameKind
from harness.spec import Elapsed, FaultSpec
from harness.units import NS_PER_MS
from suites.checks.promises import DURABLE, EXACTLY_ONCE
from suites.perturbations.batches import never_sent, pair, several, spots
from suites.perturbations.edits import with_frames_added, with_history, with_parts, with_results, with_spec
from suites.perturbations.exchanges import (
    Batch,
    Spot,
    answer_to,
    answered,
    asked,
    layout,
    request_of,
    settled,
)
from suites.perturbations.limits.scene import ELSEWHERE, metadata, refusal
from suites.perturbations.pauses import paused
from suites.perturbations.perturbation import Perturbation, channels
from suites.perturbations.relaying import relaid

DELIVERY, MAX_BLOCK, RETRIES = "delivery.timeout.ms", "max.block.ms", "retries"
TOO_LARGE, OUT_OF_ORDER, DUPLICATE_SEQUENCE, AFTER_APPEND = 10, 45, 46, 20
EXPIRED = "TimeoutException"
#: More than any check allows for clocks and rounding.
APART_MS = 1_300
GAVE_UP = ("gave-up",)
Place = tuple[Spot, Spot]


def _ms(evidence: Evidence, setting: str) -> int:
    return int(evidence.record.spec.config[setting])


def _ended(send: Send, at_ns: int, error: str, outcome: Outcome = Outcome.INFO) -> Send:
    ended: Send = changed(send, complete_ns=at_ns, outcome=outcome, partition=-1, offset=-1, error=error)
    return ended


def _has_limits(evidence: Evidence) -> bool:
    config, not_set = evidence.record.spec.config, evidence.record.not_set
    unlimited = int(config.get(RETRIES, 2**31 - 1)) == 2**31 - 1 and _is_over(evidence)
    return (
        unlimited and DELIVERY not in not_set and RETRIES not in not_set and _ms(evidence, DELIVERY) <= 60_000
    )


@view
def _last(evidence: Evidence) -> int:
    """The moment at which everything was answered and said."""
    told = (send.complete_ns or 0 for send in evidence.sends.values())
    frames = (frame.t_ns for frame in evidence.frames if frame.api == "Produce")
    return max((*told, *frames), default=0) + 1


def _is_over(evidence: Evidence) -> bool:
    """True if a pause after the last result has no fault in it, and no rule of the witness had touched a frame."""
    ends = (row.effective_ns[1] for row in evidence.faults if row.effective_ns is not None)
    touched = any(frame.fault or frame.fate for frame in (*evidence.frames, *evidence.stopped))
    return not touched and max(ends, default=0) < _last(evidence)


def _waited(evidence: Evidence, for_ms: int) -> Evidence:
    """The trial goes on for so long when all is done, and nothing happens in it."""
    return paused(evidence, _last(evidence), for_ms * NS_PER_MS)


def _with_fault(evidence: Evidence, begin_ns: int, end_ns: int, brokers: tuple[int, ...] = ()) -> Evidence:
    start = Elapsed(max(0, (begin_ns - (evidence.record.phases.load_ns or 0)) // NS_PER_MS))
    spec = FaultSpec("refuse", start, (end_ns - begin_ns) // NS_PER_MS, {}, brokers)
    row = FaultRow(len(evidence.faults), spec, (begin_ns, end_ns), (begin_ns, end_ns), 1)
    planned = with_spec(evidence, faults=(*evidence.record.spec.faults, spec))
    return replace(planned, faults=(*planned.faults, row))


def _keyed(evidence: Evidence) -> bool:
    return evidence.record.spec.workload.keys > 0


def _is_quick(evidence: Evidence, batch: Batch) -> bool:
    """True where no call can have blocked for long."""
    took_ns = answer_to(evidence, batch).t_ns - min(send.invoke_ns for send in batch.sends)
    return took_ns < _ms(evidence, MAX_BLOCK) * NS_PER_MS // 2


def _batches(
    holds: Callable[[Evidence, Batch], bool] = lambda _, __: True,
) -> Callable[[Evidence], list[Spot]]:
    """Settled batches of a client with limits, whose records have keys: then a failed one has its partition."""

    def places(evidence: Evidence) -> list[Spot]:
        if not _has_limits(evidence) or not _keyed(evidence):
            return []
        batches = settled(evidence).items()
        return [spot for spot, batch in batches if _is_quick(evidence, batch) and holds(evidence, batch)]

    return places


def _expire(evidence: Evidence, root: Batch, other: Batch, ends_ms: int, error: str = EXPIRED) -> Evidence:
    """``root`` expires under a fault of that time, and ``other`` ends so long after that, if not with it."""
    limit_ns = _ms(evidence, DELIVERY) * NS_PER_MS
    called_ns = min(send.invoke_ns for send in root.sends)
    end_ns = called_ns + limit_ns
    waited = _with_fault(_waited(evidence, _ms(evidence, DELIVERY) + 5_000), called_ns, end_ns)
    ends = [_ended(send, end_ns, EXPIRED) for send in root.sends]
    ends += [_ended(send, end_ns + ends_ms * NS_PER_MS, error) for send in other.sends]
    return with_results(waited, ends)


def _followers(evidence: Evidence) -> list[Place]:
    """A batch and the next one of its partition by the numbers of its records."""
    of: dict[int, list[Batch]] = {}
    for batch in settled(evidence).values():
        of.setdefault(batch.partition, []).append(batch)
    limits = _has_limits(evidence) and _keyed(evidence)
    return [(one.spot, two.spot) for each in of.values() for one, two in pairwise(each) if limits]


def _much_later(evidence: Evidence) -> list[Place]:
    """A batch, and one of another partition that was handed over much later."""
    batches = settled(evidence)
    found: list[Place] = []
    for spot in _batches()(evidence):
        since_ns = max(send.invoke_ns for send in batches[spot].sends) + APART_MS * NS_PER_MS
        others = (
            other
            for other in batches.values()
            if other.partition != spot[0] and min(send.invoke_ns for send in other.sends) > since_ns
        )
        if (other := next(others, None)) is not None:
            found.append((spot, other.spot))
    return found


def _expired(ends_ms: int) -> Callable[[Evidence, Place], Evidence]:
    def apply(evidence: Evidence, place: Place) -> Evidence:
        root, other = (settled(evidence)[spot] for spot in place)
        return _expire(evidence, root, other, ends_ms)

    return apply


def _unblocked(evidence: Evidence, spot: Spot) -> Evidence:
    """The calls of a batch fail before they have blocked for as long as they may."""
    after_ns = (_ms(evidence, MAX_BLOCK) - APART_MS) * NS_PER_MS
    sends = settled(evidence)[spot].sends
    waited = _waited(never_sent(evidence, [spot]), _ms(evidence, MAX_BLOCK))
    return with_results(
        waited, [_ended(send, send.invoke_ns + after_ns, EXPIRED, Outcome.FAIL) for send in sends]
    )


def _can_block(evidence: Evidence, _: Batch) -> bool:
    return APART_MS < _ms(evidence, MAX_BLOCK) < _ms(evidence, DELIVERY)


def _refused(evidence: Evidence, spot: Spot, code: int, after_ms: int, base: int = 0) -> Evidence:
    """A batch is refused and not stored, and its records fail so long after that."""
    batch = settled(evidence)[spot]
    exchange, told = batch.exchange, answered(evidence, batch.exchange)
    assert told is not None and exchange.answer is not None and exchange.answer_part is not None
    sent = asked(evidence, exchange)
    parts = {
        (exchange.request, exchange.part): changed(sent, base_sequence=(sent.base_sequence or 0) + base),
        (exchange.answer, exchange.answer_part): changed(told, error_code=code, base_offset=-1),
    }
    kept = [records for records in layout(evidence)[spot[0]] if records[0].base_offset != spot[1]]
    gone = relaid(with_parts(evidence, parts), {spot[0]: kept})
    at_ns = answer_to(evidence, batch).t_ns + after_ms * NS_PER_MS
    ends = [_ended(send, at_ns, "RefusedException", Outcome.FAIL) for send in batch.sends]
    return with_results(_waited(gone, 2 * APART_MS), ends)


def _too_large_long_ago(evidence: Evidence, spot: Spot) -> Evidence:
    return _refused(evidence, spot, TOO_LARGE, APART_MS)


def _others_too(evidence: Evidence, place: Place) -> Evidence:
    """A batch of another partition fails with the one that was too large."""
    first, other = (settled(evidence)[spot] for spot in place)
    at_ns = answer_to(evidence, first).t_ns + NS_PER_MS
    refused = _refused(evidence, first.spot, TOO_LARGE, 1)
    ends = [_ended(refused.sends[send.n], at_ns, "RefusedException") for send in other.sends]
    return with_results(refused, ends)


def _with_others(evidence: Evidence) -> list[Place]:
    """A batch, and one of another partition that was handed over before the first was answered, and answered later."""
    batches = settled(evidence)
    found: list[Place] = []
    for spot in _batches()(evidence):
        at_ns = answer_to(evidence, batches[spot]).t_ns
        for other in batches.values():
            called = all(send.invoke_ns < at_ns for send in other.sends)
            if other.partition != spot[0] and called and answer_to(evidence, other).t_ns >= at_ns:
                found.append((spot, other.spot))
                break
    return found


def _another_too_large(evidence: Evidence, place: Place) -> Evidence:
    """A batch is stored and reported as unknown; one of another partition is sent again and refused for its size."""
    first, other = (settled(evidence)[spot] for spot in place)
    part = asked(evidence, other.exchange)
    frames = pair(
        evidence, request_of(evidence, other), answer_to(evidence, other), part, refusal(part, TOO_LARGE)
    )
    ends = [_ended(send, send.complete_ns or 0, "RecordTooLargeException") for send in first.sends]
    return with_frames_added(with_results(evidence, ends), frames)


def _numbered(_: Evidence, batch: Batch) -> bool:
    return batch.records[0].producer_id >= 0


def _several_numbered(evidence: Evidence, batch: Batch) -> bool:
    return _numbered(evidence, batch) and several(evidence, batch)


def _not_next(evidence: Evidence, spot: Spot) -> Evidence:
    return _refused(evidence, spot, OUT_OF_ORDER, 1, base=1)


def _in_peace(evidence: Evidence, spot: Spot, brokers: tuple[int, ...] | None, stall_ms: int = 0) -> Evidence:
    """A batch expires on a free way, however long its client waited, while another way is not free."""
    sends, limit_ms = settled(evidence)[spot].sends, _ms(evidence, DELIVERY)
    since_ns = _last(evidence)
    waited = _waited(evidence, limit_ms + 5_000)
    if brokers is not None:
        waited = _with_fault(waited, since_ns, since_ns + limit_ms * NS_PER_MS, brokers)
    if stall_ms:
        waited = _stalled(waited, since_ns, stall_ms)
    return with_results(
        waited, [_ended(send, send.invoke_ns + limit_ms * NS_PER_MS, EXPIRED) for send in sends]
    )


def _before_disorder(evidence: Evidence, spot: Spot) -> Evidence:
    """A batch expires on a free way; a second later answers come out of turn, on a connection of their own."""
    at_ns = max(send.invoke_ns for send in settled(evidence)[spot].sends) + NS_PER_MS * (
        _ms(evidence, DELIVERY) + 1_000
    )
    pairs = metadata(evidence)
    assert pairs is not None
    known = next(frame for frame in evidence.frames if frame.kind is FrameKind.OPEN)
    conn = max(frame.conn for frame in (*evidence.frames, *evidence.stopped)) + 1
    own = {"conn": conn, "broker": known.broker, "came_ns": None, "fault": None, "fate": None}
    rows = [(known, None), (pairs[0], 1), (pairs[0], 2), (pairs[1], 2), (pairs[1], 1), (known, None)]
    frames = [
        changed(row, t_ns=at_ns + at, correlation_id=number, **own) for at, (row, number) in enumerate(rows)
    ]
    frames[-1] = changed(frames[-1], kind=FrameKind.CLOSE, closed_by="client")
    return with_frames_added(_in_peace(evidence, spot, None), frames)


def _stalled(evidence: Evidence, since_ns: int, for_ms: int) -> Evidence:
    until_ns = since_ns + for_ms * NS_PER_MS
    kept = [
        event
        for event in evidence.history
        if not (isinstance(event, Stats) and since_ns <= event.mono_ns < until_ns)
    ]
    return with_history(evidence, kept)


def _has_time(evidence: Evidence, batch: Batch) -> bool:
    """True where the last free stretch of its life is longer than recovery, five seconds of it stalled."""
    config = evidence.record.spec.config
    recovery_ms = int(config["request.timeout.ms"]) + int(config["reconnect.backoff.max.ms"]) + 5_000
    left_ns = min(send.invoke_ns for send in batch.sends) - _last(evidence)
    return _ms(evidence, DELIVERY) + left_ns // NS_PER_MS > recovery_ms + 5_000


def _beats(evidence: Evidence) -> bool:
    return any(isinstance(event, Stats) for event in evidence.history)


def _late(evidence: Evidence, spot: Spot) -> Evidence:
    """The last results come when every limit is over, by ten seconds more than the process had stalled."""
    batch = settled(evidence)[spot]
    limit_ms = _ms(evidence, DELIVERY) + _ms(evidence, MAX_BLOCK) + 5_000
    at_ns, by_ms = _last(evidence), limit_ms + 13_000
    waited = _stalled(_waited(evidence, by_ms), at_ns + 500 * NS_PER_MS, 3_000)
    told = [
        changed(waited.sends[send.n], complete_ns=at_ns + (by_ms - 1) * NS_PER_MS) for send in batch.sends
    ]
    return with_results(waited, told)


def _can_be_late(evidence: Evidence) -> Sequence[Spot]:
    found = settled(evidence)
    if not found or not _beats(evidence) or not _has_limits(evidence):
        return ()
    last = max(found, key=lambda spot: answer_to(evidence, found[spot]).t_ns)
    return (last,)


def _duplicate_of_another(evidence: Evidence, place: Place) -> Evidence:
    """A batch is refused and acknowledged; what was called a duplicate before is the batch ahead of it."""
    ahead, batch = (settled(evidence)[spot] for spot in place)
    exchange, told = batch.exchange, answered(evidence, batch.exchange)
    assert told is not None and exchange.answer is not None and exchange.answer_part is not None
    error = changed(told, error_code=AFTER_APPEND, base_offset=-1)
    part = asked(evidence, ahead.exchange)
    frames = pair(
        evidence,
        request_of(evidence, batch),
        answer_to(evidence, batch),
        part,
        refusal(part, DUPLICATE_SEQUENCE),
        -1,
    )
    return with_frames_added(with_parts(evidence, {(exchange.answer, exchange.answer_part): error}), frames)


def _numbered_pairs(evidence: Evidence) -> list[Place]:
    batches = settled(evidence)
    return [
        place
        for place in _followers(evidence)
        if all(_numbered(evidence, batches[spot]) for spot in place)
        and request_of(evidence, batches[place[0]]).t_ns < request_of(evidence, batches[place[1]]).t_ns
    ]


def _refused_for_unread(evidence: Evidence, spot: Spot) -> Evidence:
    """A batch is refused and acknowledged; what passes unread is between the client and another broker."""
    batch = settled(evidence)[spot]
    exchange, told = batch.exchange, answered(evidence, batch.exchange)
    assert told is not None and exchange.answer is not None and exchange.answer_part is not None
    error = changed(told, error_code=AFTER_APPEND, base_offset=-1)
    known = next(frame for frame in evidence.frames if frame.kind is FrameKind.OPEN)
    conn = max(frame.conn for frame in (*evidence.frames, *evidence.stopped)) + 1
    at_ns = request_of(evidence, batch).t_ns
    own = {"conn": conn, "broker": ELSEWHERE}
    rows: list[Frame] = [
        changed(known, t_ns=at_ns - 2, **own),
        changed(known, t_ns=at_ns - 1, kind=FrameKind.OPAQUE, size_bytes=3, note="not Kafka", **own),
        changed(known, t_ns=at_ns, kind=FrameKind.CLOSE, closed_by="client", **own),
    ]
    return with_frames_added(with_parts(evidence, {(exchange.answer, exchange.answer_part): error}), rows)


def _unsplit(evidence: Evidence, place: Place) -> Evidence:
    """A batch of several is too large and fails whole; a single record was too large under a limit of its own."""
    large, single = (settled(evidence)[spot] for spot in place)
    at_ns = request_of(evidence, single).t_ns
    part = changed(asked(evidence, single.exchange), records=1, crc=1)
    frames = pair(
        evidence,
        request_of(evidence, single),
        answer_to(evidence, single),
        part,
        refusal(part, TOO_LARGE),
        -1,
    )
    told = _with_fault(evidence, at_ns - NS_PER_MS, answer_to(evidence, single).t_ns + NS_PER_MS)
    last = told.faults[-1]
    spec = changed(last.spec, kind="message_size_limit")
    planned = with_spec(told, faults=(*told.record.spec.faults[:-1], spec))
    limited = replace(planned, faults=(*planned.faults[:-1], changed(last, spec=spec)))
    refused = _refused(evidence, large.spot, TOO_LARGE, 1)
    return with_frames_added(
        replace(refused, record=changed(refused.record, spec=limited.record.spec), faults=limited.faults),
        frames,
    )


def _under_two_limits(evidence: Evidence) -> list[Place]:
    """A batch of several, and one of another partition that went and was answered at another time."""
    batches = settled(evidence)
    found: list[Place] = []
    for spot, batch in batches.items():
        at_ns = answer_to(evidence, batch).t_ns
        for other in batches.values():
            begin_ns = request_of(evidence, other).t_ns - 2 * NS_PER_MS
            is_apart = not begin_ns <= at_ns <= answer_to(evidence, other).t_ns + 2 * NS_PER_MS
            if other.partition != spot[0] and is_apart and several(evidence, batch):
                found.append((spot, other.spot))
                break
    return found if _has_limits(evidence) and _keyed(evidence) else []


def _kind(
    name: str,
    defect: str,
    apply: Callable[[Evidence, Place], Evidence] | Callable[[Evidence, Spot], Evidence],
    places: Callable[[Evidence], Sequence[object]],
    caught_by: tuple[str, ...] = GAVE_UP,
    changes: tuple[str, ...] = ("history",),
    verdict: Verdict = Verdict.FAIL,
    guarantees: frozenset[Guarantee] = DURABLE,
) -> Perturbation:
    return Perturbation(name, channels(*changes), defect, caught_by, places, apply, verdict, guarantees)


WIRE = ("history", "frames", "log")

PERTURBATIONS = (
    _kind(
        "gave-up-before-the-batch-expired",
        "gives up a batch 1.3 seconds before the one ahead of it expires",
        _expired(-APART_MS),
        _followers,
        changes=("history", "faults"),
    ),
    _kind(
        "gave-up-as-another-partition-expired",
        "gives up a batch in time, because one of another partition expires",
        _expired(0),
        _much_later,
        changes=("history", "faults"),
    ),
    _kind(
        "gave-up-before-max-block",
        "lets a call fail 1.3 seconds before max.block.ms",
        _unblocked,
        _batches(_can_block),
        changes=WIRE,
    ),
    _kind(
        "gave-up-long-after-too-large",
        "gives up records more than a second after a batch of as many was refused for its size",
        _too_large_long_ago,
        _batches(),
        changes=WIRE,
    ),
    _kind(
        "gave-up-beside-too-large",
        "gives up a batch, because one of another partition was refused for its size",
        _others_too,
        _with_others,
        changes=WIRE,
    ),
    _kind(
        "gave-up-stored-beside-too-large",
        "reports a batch as unknown that it has the answer to, when another one is refused for its size",
        _another_too_large,
        _with_others,
        changes=("history", "frames"),
    ),
    _kind(
        "gave-up-over-its-own-gap",
        "leaves a sequence out, which the broker refuses, and gives up the batch",
        _not_next,
        _batches(_several_numbered),
        ("gave-up", "sequence-gap"),
        WIRE,
        guarantees=EXACTLY_ONCE,
    ),
    _kind(
        "gave-up-while-others-have-faults",
        "lets a batch expire on a free way, while that to another broker is not",
        lambda evidence, spot: _in_peace(evidence, spot, (ELSEWHERE,)),
        _batches(_has_time),
        changes=("history", "faults"),
    ),
    _kind(
        "gave-up-long-after-a-stall",
        "lets a batch expire on a free way, long after its process had stalled",
        lambda evidence, spot: _in_peace(evidence, spot, None, 4_000),
        lambda evidence: _batches(_has_time)(evidence) if _beats(evidence) else [],
    ),
    _kind(
        "gave-up-before-answers-out-of-turn",
        "lets a batch expire on a free way, before answers come out of turn",
        _before_disorder,
        lambda evidence: _batches(_has_time)(evidence) if metadata(evidence) else [],
        changes=("history", "frames"),
    ),
    _kind(
        "late-by-more-than-it-stalled",
        "reports a batch when every limit is over by more than its process had stalled",
        _late,
        _can_be_late,
        ("delivery-timeout",),
        verdict=Verdict.DIFFERS,
    ),
    _kind(
        "ack-of-another-duplicate",
        "takes DUPLICATE_SEQUENCE_NUMBER of one batch for the acknowledgement of the next",
        _duplicate_of_another,
        _numbered_pairs,
        ("early-ack",),
        ("frames",),
        guarantees=EXACTLY_ONCE,
    ),
    _kind(
        "ack-beside-unread-elsewhere",
        "acknowledges a batch that was refused, while something unreadable passes on another way",
        _refused_for_unread,
        spots(),
        ("early-ack",),
        ("frames",),
    ),
    _kind(
        "unsplit-under-another-limit",
        "lets a batch fail that is too large, when a single record was too large under another limit",
        _unsplit,
        _under_two_limits,
        ("unsplit",),
        (*WIRE, "faults"),
        Verdict.DIFFERS,
    ),
)
