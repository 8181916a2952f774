"""The limits of the excuses of faults and stalls: a batch that expires or is late without an obstacle."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace as changed

from harness.model.contract import Stats
from harness.model.evidence import Evidence
from harness.model.rows import FrameKind
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from suites.perturbations.edits import ended, with_frames_added, with_history, with_results
from suites.perturbations.exchanges import Batch, Spot, answer_to, settled
from suites.perturbations.limits.results.afterwards import (
    DELIVERY,
    EXPIRED,
    MAX_BLOCK,
    beats,
    has_limits,
    last_ns,
    limit,
    quick,
    setting_ms,
    waited,
    with_fault,
)
from suites.perturbations.limits.scene import ELSEWHERE, metadata


def _in_peace(evidence: Evidence, spot: Spot, brokers: tuple[int, ...] | None, stall_ms: int = 0) -> Evidence:
    """A batch expires although its broker can be reached. A fault may affect ``brokers``, which are others."""
    sends, limit_ms = settled(evidence)[spot].sends, setting_ms(evidence, DELIVERY)
    since_ns = last_ns(evidence)
    later = waited(evidence, limit_ms + 5_000)
    if brokers is not None:
        later = with_fault(later, since_ns, since_ns + limit_ms * NS_PER_MS, brokers)
    if stall_ms:
        later = _stalled(later, since_ns, stall_ms)
    return with_results(
        later, [ended(send, send.invoke_ns + limit_ms * NS_PER_MS, EXPIRED) for send in sends]
    )


def _before_disorder(evidence: Evidence, spot: Spot) -> Evidence:
    """A batch expires although its broker can be reached. Later, answers on another connection are out of order."""
    at_ns = max(send.invoke_ns for send in settled(evidence)[spot].sends) + NS_PER_MS * (
        setting_ms(evidence, DELIVERY) + 1_000
    )
    pairs = metadata(evidence)
    assert pairs is not None
    known = next(frame for frame in evidence.frames if frame.kind is FrameKind.OPEN)
    conn = max(frame.conn for frame in (*evidence.frames, *evidence.blocked_frames)) + 1
    own = {"conn": conn, "broker": known.broker, "received_ns": None, "fault": None, "disposition": None}
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
    """True if the batch has more time without a fault than recovery needs, even with a stall of five seconds."""
    config = evidence.record.spec.config
    recovery_ms = int(config["request.timeout.ms"]) + int(config["reconnect.backoff.max.ms"]) + 5_000
    left_ns = min(send.invoke_ns for send in batch.sends) - last_ns(evidence)
    return setting_ms(evidence, DELIVERY) + left_ns // NS_PER_MS > recovery_ms + 5_000


def _late(evidence: Evidence, spot: Spot) -> Evidence:
    """The last results exceed every limit, by ten seconds more than the process had stalled."""
    batch = settled(evidence)[spot]
    limit_ms = setting_ms(evidence, DELIVERY) + setting_ms(evidence, MAX_BLOCK) + 5_000
    at_ns, by_ms = last_ns(evidence), limit_ms + 13_000
    later = _stalled(waited(evidence, by_ms), at_ns + 500 * NS_PER_MS, 3_000)
    told = [
        changed(later.operations[send.n], complete_ns=at_ns + (by_ms - 1) * NS_PER_MS) for send in batch.sends
    ]
    return with_results(later, told)


def _can_be_late(evidence: Evidence) -> Sequence[Spot]:
    found = settled(evidence)
    if not found or not beats(evidence) or not has_limits(evidence):
        return ()
    last = max(found, key=lambda spot: answer_to(evidence, found[spot]).t_ns)
    return (last,)


PERTURBATIONS = (
    limit(
        "gave-up-while-others-have-faults",
        "lets a batch expire although its broker can be reached, while another broker cannot be",
        lambda evidence, spot: _in_peace(evidence, spot, (ELSEWHERE,)),
        quick(_has_time),
        changes=("history", "faults"),
    ),
    limit(
        "gave-up-long-after-a-stall",
        "lets a batch expire although its broker can be reached, long after its process had stalled",
        lambda evidence, spot: _in_peace(evidence, spot, None, 4_000),
        lambda evidence: quick(_has_time)(evidence) if beats(evidence) else [],
    ),
    limit(
        "gave-up-before-answers-out-of-turn",
        "lets a batch expire although its broker can be reached, before answers are out of order",
        _before_disorder,
        lambda evidence: quick(_has_time)(evidence) if metadata(evidence) else [],
        changes=("history", "frames"),
    ),
    limit(
        "late-by-more-than-it-stalled",
        "reports a batch later than every limit, by more than its process had stalled",
        _late,
        _can_be_late,
        ("delivery-timeout",),
        verdict=Verdict.DIFFERS,
    ),
)
