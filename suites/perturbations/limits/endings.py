"""The limits of the excuses about endings: requests after a close, and records that wait for their results."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace as changed

from harness.model.contract import OpComplete, ShutdownComplete, Stats
from harness.model.evidence import Evidence, view
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Outcome, Verdict
from harness.plugins.perturbation import Perturbation
from harness.trial.patience import bound_ms
from suites.analysis.disturbance import broker_stalls
from suites.checks.history.delivery_timeout import SETTING, limit_ms
from suites.perturbations.edits import with_frame, with_frames_added, with_history, with_record, with_results
from suites.perturbations.exchanges import Batch, Spot, answer_to, asked, settled
from suites.perturbations.limits.scene import ELSEWHERE, During, Stage, refusal, spots
from suites.perturbations.pauses import paused, quiet
from suites.perturbations.perturbation import channels

NOT_LEADER = 6
#: How late a process may report something, and by when bytes that a fault released have arrived.
LATE_MS, MORE_MS = 1_000, 500
AFTER_CLOSE_MS = 800
STALL_MS, HOLD_BACK_MS, BEYOND_MS = 3_000, 5_000, 2_000
#: A longer wait would make the trial too long.
LONGEST_MS = 150_000
EXPIRED = "TimeoutException"


def _done(evidence: Evidence, op: str) -> OpComplete | None:
    ended = [event for event in evidence.history if isinstance(event, OpComplete) and event.op == op]
    return ended[-1] if ended and ended[-1].outcome == [Outcome.OK] else None


def _closing(evidence: Evidence) -> list[Spot]:
    """Return batches of a client that closed successfully, with no fault nearby."""
    closed = _done(evidence, "close")
    ends = (row.effective_ns[1] for row in evidence.faults if row.effective_ns is not None)
    if closed is None or closed.mono_ns - LATE_MS * NS_PER_MS < max(ends, default=0):
        return []
    return spots(evidence)


def _after_close(evidence: Evidence, spot: Spot, after_ms: int, *faults: During) -> Evidence:
    """Send a batch ``after_ms`` after the close returned, which is refused. Times of faults count from the close."""
    closed = _done(evidence, "close")
    assert closed is not None
    stage = Stage(evidence, spot)
    later = paused(evidence, closed.mono_ns + 1, (after_ms + LATE_MS) * NS_PER_MS)
    closed_ms = -(-(closed.mono_ns - stage.ns(0)) // NS_PER_MS)
    sent = asked(evidence, stage.batch.exchange)
    at_ms = closed_ms + after_ms
    rows = [
        *stage.exchange(sent, refusal(sent, NOT_LEADER), at_ms, at_ms + 1, stage.conn),
        *stage.connection(at_ms - 1, at_ms + 2, stage.conn),
    ]
    moved = [
        During(each.kind, closed_ms + each.begin_ms, closed_ms + each.end_ms, each.params, each.brokers)
        for each in faults
    ]
    return stage.faulted(with_frames_added(later, rows), moved)


def _soon_after_close(evidence: Evidence, spot: Spot) -> Evidence:
    return _after_close(evidence, spot, AFTER_CLOSE_MS)


def _held(begin_ms: int, end_ms: int, *brokers: int) -> During:
    return During("bandwidth", begin_ms, end_ms, (("upstream_bytes_per_s", 1_000),), brokers)


def _others_held(evidence: Evidence, spot: Spot) -> Evidence:
    return _after_close(evidence, spot, AFTER_CLOSE_MS, _held(-10, AFTER_CLOSE_MS + 100, ELSEWHERE))


def _held_before(evidence: Evidence, spot: Spot) -> Evidence:
    """The fault that delayed bytes ended when the client was closed, 900 ms before the request arrived."""
    return _after_close(evidence, spot, 2 * AFTER_CLOSE_MS, _held(-100, AFTER_CLOSE_MS - 100))


@view
def _last_ns(evidence: Evidence) -> int:
    """Return when everything was answered and reported, and no fault was in effect any more."""
    ends = (row.effective_ns[1] for row in evidence.faults if row.effective_ns is not None)
    told = (send.complete_ns or 0 for send in evidence.operations.values())
    frames = (frame.t_ns for frame in evidence.frames if frame.api == "Produce")
    return max((*told, *frames, *ends), default=0)


def _tail(evidence: Evidence) -> list[Spot]:
    """Return the batch that was answered last, if every record succeeded and the client lives on."""
    batches = settled(evidence)
    if not batches or len(evidence.acknowledged) < len(evidence.operations):
        return []
    ended = (event.mono_ns for event in evidence.history if isinstance(event, ShutdownComplete))
    if any(ended_ns <= _last_ns(evidence) for ended_ns in ended):
        return []
    last = max(batches, key=lambda spot: answer_to(evidence, batches[spot]).t_ns)
    return [last] if _bound_ms(evidence) + limit_ms(evidence) < LONGEST_MS else []


def _bound_ms(evidence: Evidence) -> int:
    return bound_ms(evidence.record.spec.config, evidence.record.not_set)


def _left_alone(evidence: Evidence, spot: Spot, for_ms: int) -> Evidence:
    """The batch never gets a result, flush and close report failure, and the trial waits for ``for_ms``.

    The network has healed as soon as no fault is in effect any more.
    """
    at_ns = _last_ns(evidence) + 1
    waited = paused(evidence, at_ns, for_ms * NS_PER_MS)
    phases = waited.record.phases
    final_ns = max(phases.final_ns or 0, at_ns + for_ms * NS_PER_MS)
    end_ns, heal_ns = max(phases.end_ns or 0, final_ns), min(phases.heal_ns or at_ns, at_ns)
    waited = with_record(waited, phases=changed(phases, heal_ns=heal_ns, final_ns=final_ns, end_ns=end_ns))
    history = [
        changed(event, outcome=[Outcome.INFO.value], error=[EXPIRED])
        if isinstance(event, OpComplete) and event.op in ("flush", "close")
        else event
        for event in waited.history
    ]
    pending = [changed(send, complete_ns=None) for send in settled(evidence)[spot].sends]
    return with_results(with_history(waited, history), pending)


def _beyond_bound(evidence: Evidence, spot: Spot) -> Evidence:
    return _left_alone(evidence, spot, _bound_ms(evidence) + BEYOND_MS)


def _beside_stall(evidence: Evidence, spot: Spot) -> Evidence:
    """The client's process does not run for part of that time, and the rest is too long as well."""
    begin_ns = _last_ns(evidence) + LATE_MS * NS_PER_MS
    alone = _left_alone(evidence, spot, _bound_ms(evidence) + STALL_MS + BEYOND_MS)
    return _stalled(alone, begin_ns, begin_ns + STALL_MS * NS_PER_MS)


def _stalled(evidence: Evidence, begin_ns: int, end_ns: int) -> Evidence:
    """Leave no heartbeat between these times, and one at each of them."""
    told = [event for event in evidence.history if isinstance(event, Stats)]
    before = next(event for event in reversed(told) if event.mono_ns <= begin_ns)
    kept = [
        event
        for event in evidence.history
        if not (isinstance(event, Stats) and begin_ns <= event.mono_ns <= end_ns)
    ]
    added = [
        changed(before, mono_ns=ns, wall_ns=before.wall_ns + ns - before.mono_ns) for ns in (begin_ns, end_ns)
    ]
    return with_history(evidence, [*kept, *added])


def _beats_by(evidence: Evidence, at_ns: int) -> bool:
    return any(isinstance(event, Stats) and event.mono_ns < at_ns for event in evidence.history)


def _beating_tail(evidence: Evidence) -> list[Spot]:
    return [spot for spot in _tail(evidence) if _beats_by(evidence, _last_ns(evidence))]


def _after_throttle(evidence: Evidence, spot: Spot) -> Evidence:
    """The last answer tells the client to hold back for five seconds, which ended longer ago than the bound."""
    answer = settled(evidence)[spot].exchange.answer or 0
    throttled = with_frame(evidence, answer, throttle_ms=HOLD_BACK_MS)
    return _left_alone(throttled, spot, HOLD_BACK_MS + _bound_ms(evidence) + BEYOND_MS)


def _overdue(evidence: Evidence, spot: Spot) -> Evidence:
    return _left_alone(evidence, spot, limit_ms(evidence) + BEYOND_MS)


def _limited_tail(evidence: Evidence) -> list[Spot]:
    return [] if SETTING in evidence.record.not_set else _tail(evidence)


def _flushing(evidence: Evidence) -> bool:
    return _done(evidence, "flush") is not None and len(evidence.acknowledged) == len(evidence.operations)


@view
def after_pause(evidence: Evidence) -> dict[Spot, int]:
    """Return batches of records that were handed over after a possible pause, with the time of the pause."""
    moments = [at_ns for at_ns in quiet(evidence) if _beats_by(evidence, at_ns)]
    if not moments or not _flushing(evidence) or broker_stalls(evidence):
        return {}
    batches = settled(evidence).items()
    return {spot: moments[0] for spot, batch in batches if _are_younger(batch, moments[0])}


def _are_younger(batch: Batch, at_ns: int) -> bool:
    return all(send.invoke_ns > at_ns for send in batch.sends)


def _once_stalled(evidence: Evidence, spot: Spot) -> Evidence:
    """The client's process does not run for a while, before the records of a batch are handed over."""
    at_ns = after_pause(evidence)[spot]
    waited = paused(evidence, at_ns, (STALL_MS + LATE_MS) * NS_PER_MS)
    return _stalled(waited, at_ns + 1, at_ns + STALL_MS * NS_PER_MS)


def _never_told(evidence: Evidence, spot: Spot) -> Evidence:
    stalled = _once_stalled(evidence, spot)
    return with_results(stalled, [changed(send, complete_ns=None) for send in settled(stalled)[spot].sends])


def _told_after_flush(evidence: Evidence, spot: Spot) -> Evidence:
    """The results of the batch arrive a second and a half after a flush returned that promised them."""
    stalled = _once_stalled(evidence, spot)
    flush = _done(stalled, "flush")
    assert flush is not None
    later = paused(stalled, flush.mono_ns, 3 * LATE_MS * NS_PER_MS, flush.seq + 1)
    told_ns = flush.mono_ns + (LATE_MS + MORE_MS) * NS_PER_MS
    return with_results(later, [changed(send, complete_ns=told_ns) for send in settled(stalled)[spot].sends])


def _kind(
    name: str,
    defect: str,
    caught_by: tuple[str, ...],
    places: Callable[[Evidence], list[Spot]],
    apply: Callable[[Evidence, Spot], Evidence],
    changes: tuple[str, ...] = ("history", "frames", "log"),
) -> Perturbation:
    return Perturbation(name, channels(*changes), defect, caught_by, places, apply, Verdict.FAIL)


AFTER_CLOSE, STUCK, PENDING = ("sent-after-close",), ("stuck",), ("still-pending",)
FAULTY = ("history", "frames", "log", "faults")


def _young(evidence: Evidence) -> list[Spot]:
    return list(after_pause(evidence))


PERTURBATIONS = (
    _kind(
        "sent-shortly-after-close",
        "sends a request 800 ms after its close has returned",
        AFTER_CLOSE,
        _closing,
        _soon_after_close,
    ),
    _kind(
        "sent-after-close-as-others-are-held",
        "sends a request after its close, while a fault delays bytes to another broker",
        AFTER_CLOSE,
        _closing,
        _others_held,
        FAULTY,
    ),
    _kind(
        "sent-after-close-after-bytes-were-held",
        "sends a request after its close, almost a second after a fault that delayed bytes has ended",
        AFTER_CLOSE,
        _closing,
        _held_before,
        FAULTY,
    ),
    _kind(
        "stuck-beyond-its-largest-timeout",
        "ignores a batch for two seconds longer than its largest timeout allows",
        STUCK,
        _tail,
        _beyond_bound,
    ),
    _kind(
        "stuck-beside-a-stall",
        "ignores a batch for two seconds longer than allowed, not counting a stall of its process",
        STUCK,
        _beating_tail,
        _beside_stall,
    ),
    _kind(
        "stuck-after-holding-back",
        "ignores a batch for two seconds longer than allowed, counted from the end of a throttle",
        STUCK,
        _tail,
        _after_throttle,
    ),
    _kind(
        "no-result-just-overdue",
        "has no result for a batch two seconds after all its limits",
        PENDING,
        _limited_tail,
        _overdue,
    ),
    _kind(
        "no-result-long-after-a-stall",
        "has no result for a batch although its flush succeeded, and stalled only before the batch was handed over",
        PENDING,
        _young,
        _never_told,
    ),
    _kind(
        "result-after-flush-long-after-a-stall",
        "reports results a second and a half after its flush, and stalled only before the records were handed over",
        ("false-flush",),
        _young,
        _told_after_flush,
    ),
)
