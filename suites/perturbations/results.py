"""What the client says of its records and when: results that never come, come too late, or come for no reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace as changed

from harness.contract import CRASHED, AnyEvent, Fatal, OpComplete, OpInvoke, ShutdownComplete, Stats
from harness.evidence import Evidence, Send
from harness.outcome import Outcome, Verdict
from harness.units import NS_PER_MS
from suites.checks.promises import DURABLE
from suites.perturbations.batches import delayed, spots
from suites.perturbations.edits import with_history, with_record, with_results
from suites.perturbations.exchanges import Batch, Spot, answer_to, calm, settled
from suites.perturbations.pauses import idle_ns, paused, waiting_at
from suites.perturbations.perturbation import Perturbation, Place, channels, once

HISTORY = channels("history")
RETRIES, TIMEOUT, MAX_BLOCK = "retries", "delivery.timeout.ms", "max.block.ms"
REQUEST_TIMEOUT = "request.timeout.ms"
#: How soon a client gives up that does not try.
SOON_NS = 5 * NS_PER_MS
PENDING = ("still-pending", "stuck")


def _given_up(sends: Sequence[Send], after_ns: int = SOON_NS) -> list[Send]:
    return [
        changed(
            send,
            complete_ns=send.invoke_ns + after_ns,
            outcome=Outcome.INFO,
            partition=-1,
            offset=-1,
            error="TimeoutException",
        )
        for send in sends
    ]


def _gave_up(evidence: Evidence, spot: Spot) -> Evidence:
    return with_results(evidence, _given_up(settled(evidence)[spot].sends))


def _gave_up_after_ack(evidence: Evidence, spot: Spot) -> Evidence:
    """The records of a batch are reported as unknown at the moment at which they were acknowledged."""
    unknown = [
        changed(send, outcome=Outcome.INFO, partition=-1, offset=-1, error="NetworkException")
        for send in settled(evidence)[spot].sends
    ]
    return with_results(evidence, unknown)


def _all_but_one(evidence: Evidence) -> Evidence:
    keep = min(evidence.acknowledged)
    return with_results(evidence, _given_up([send for n, send in evidence.sends.items() if n != keep]))


def _gave_all_up(evidence: Evidence, _: str) -> Evidence:
    return _all_but_one(evidence)


def _gave_all_up_unlimited(evidence: Evidence, _: str) -> Evidence:
    """As before, by a client that cannot be told how often to try."""
    not_set = evidence.record.not_set | {RETRIES: "there is no such setting"}
    return with_record(_all_but_one(evidence), not_set=not_set)


def _half_given_up(evidence: Evidence, _: str) -> Evidence:
    """Every second record is given up, by a client that cannot be told how often to try."""
    not_set = evidence.record.not_set | {RETRIES: "there is no such setting"}
    half = [send for n, send in evidence.sends.items() if n % 2]
    return with_record(with_results(evidence, _given_up(half)), not_set=not_set)


def _mostly_acked(evidence: Evidence) -> bool:
    sent = evidence.sends
    return len(sent) > 10 and len(evidence.acknowledged) == len(sent)


def _no_result(evidence: Evidence, spot: Spot) -> Evidence:
    return with_results(evidence, [changed(send, complete_ns=None) for send in settled(evidence)[spot].sends])


def _no_result_for_one(evidence: Evidence, spot: Spot) -> Evidence:
    return with_results(evidence, [changed(settled(evidence)[spot].sends[0], complete_ns=None)])


def _done(evidence: Evidence, op: str) -> OpComplete | None:
    """The last flush or close that said that all was done."""
    ops = [event for event in evidence.history if isinstance(event, OpComplete) and event.op == op]
    return ops[-1] if ops and ops[-1].outcome == [Outcome.OK] else None


def _ended(evidence: Evidence, op: str) -> Sequence[str]:
    return (op,) if _done(evidence, op) else ()


def _tail(evidence: Evidence) -> Sequence[Spot]:
    """The batch that was acknowledged last of all, if it is clear."""
    found = settled(evidence)
    if not found or _done(evidence, "flush") is None:
        return ()
    return (max(found, key=lambda spot: answer_to(evidence, found[spot]).t_ns),)


def _results_after(op: str) -> Callable[[Evidence, Spot], Evidence]:
    """The results of the last batch come two seconds after a flush or close returned, which promised them."""

    def apply(evidence: Evidence, spot: Spot) -> Evidence:
        done = _done(evidence, op)
        assert done is not None
        later = paused(evidence, done.mono_ns, 3_000 * NS_PER_MS, done.seq + 1)
        told_ns = done.mono_ns + 2_000 * NS_PER_MS
        return with_results(
            later, [changed(send, complete_ns=told_ns) for send in settled(evidence)[spot].sends]
        )

    return apply


def _never_returned(evidence: Evidence, op: str) -> Evidence:
    """What was called has no end: the trial waited a minute for it, and a process that does not close is killed."""
    done = _done(evidence, op)
    assert done is not None
    later = paused(evidence, done.mono_ns, 60_000 * NS_PER_MS, done.seq)
    ends = ShutdownComplete if op == "close" else ()
    kept = [
        event
        for event in later.history
        if not isinstance(event, ends) and not (isinstance(event, OpComplete) and event.id == done.id)
    ]
    return with_history(later, kept)


def _too_late_ns(evidence: Evidence) -> int:
    config = evidence.record.spec.config
    return (int(config[TIMEOUT]) + int(config[MAX_BLOCK]) + 10_000) * NS_PER_MS


def _later_than_allowed(evidence: Evidence, spot: Spot) -> Evidence:
    """The last batch has its results when every time limit is over, and the flush waits for them."""
    batch, by_ns = settled(evidence)[spot], _too_late_ns(evidence)
    last_ns = max(send.complete_ns or 0 for send in batch.sends)
    at_ns = max(last_ns, answer_to(evidence, batch).t_ns) + 1
    return delayed(paused(evidence, at_ns, by_ns), batch.sends, by_ns - NS_PER_MS)


def _can_be_late(evidence: Evidence) -> Sequence[Spot]:
    """The last batch, where the client has the limit, nothing else is under way any more, and its heartbeat has begun.

    A wait of that length without a heartbeat is a client that was stalled.
    """
    if TIMEOUT in evidence.record.not_set:
        return ()
    found = settled(evidence)
    return [
        spot
        for spot in _tail(evidence)
        if spot in calm(evidence) and _beats_before(evidence, answer_to(evidence, found[spot]).t_ns)
    ]


def _beats_before(evidence: Evidence, at_ns: int) -> bool:
    return any(isinstance(event, Stats) and event.mono_ns < at_ns for event in evidence.history)


def _crashed(evidence: Evidence, spot: Spot) -> Evidence:
    """The process ends by an error of the library while the last batch waits; its end is told, and no result."""
    batch = settled(evidence)[spot]
    at_ns = max(send.invoke_ns for send in batch.sends)
    kept: list[AnyEvent] = [event for event in evidence.history if event.mono_ns <= at_ns]
    last = kept[-1]
    crash = Fatal(
        seq=0,
        mono_ns=at_ns + NS_PER_MS,
        wall_ns=last.wall_ns + at_ns + NS_PER_MS - last.mono_ns,
        error=CRASHED,
        message="Uncaught exception in the sender's thread",
    )
    return with_history(
        with_results(evidence, [changed(each, complete_ns=None) for each in batch.sends]), [*kept, crash]
    )


def _settable(evidence: Evidence) -> bool:
    return TIMEOUT not in evidence.record.not_set and RETRIES not in evidence.record.not_set


def _can_give_up(evidence: Evidence) -> list[Place]:
    return list(settled(evidence)) if _settable(evidence) else []


def _flush(evidence: Evidence) -> OpInvoke | None:
    flushes = (event for event in evidence.history if isinstance(event, OpInvoke) and event.op == "flush")
    return next(flushes, None)


def _idle_in_flush(evidence: Evidence) -> Sequence[int]:
    """A moment of the flush at which nothing is on its way: what does not happen then is the client's doing."""
    flush, done = _flush(evidence), _done(evidence, "flush")
    if flush is None or done is None or not _mostly_acked(evidence):
        return ()
    at_ns = idle_ns(evidence, flush.mono_ns, done.mono_ns)
    return () if at_ns is None else (at_ns,)


def _awaited_in_flush(evidence: Evidence) -> Sequence[int]:
    """The beginning of the flush, if an answer is awaited then that the client could be told to give up."""
    flush = _flush(evidence)
    if flush is None or not _flushed(evidence) or REQUEST_TIMEOUT in evidence.record.not_set:
        return ()
    return (flush.mono_ns,) if waiting_at(evidence, flush.mono_ns) else ()


def _all_pending(evidence: Evidence, at_ns: int) -> Evidence:
    """From some record on, nothing has a result: neither flush nor close succeeds, and the trial waits a minute."""
    flush = _flush(evidence)
    assert flush is not None
    quarter = len(evidence.sends) * 3 // 4
    pending = [changed(send, complete_ns=None) for n, send in evidence.sends.items() if n >= quarter]
    wait_ns = _too_late_ns(evidence) + 30_000 * NS_PER_MS
    waited = paused(evidence, at_ns, wait_ns, flush.seq + 1)
    phases = waited.record.phases
    final_ns = max(phases.final_ns or 0, at_ns + wait_ns)
    waited = with_record(waited, phases=changed(phases, final_ns=final_ns))
    history = [
        changed(event, outcome=[Outcome.INFO.value], error=["TimeoutException"])
        if isinstance(event, OpComplete) and event.op in ("flush", "close")
        else event
        for event in waited.history
    ]
    return with_results(
        with_history(waited, history), [changed(evidence.sends[send.n], complete_ns=None) for send in pending]
    )


def _flushed(evidence: Evidence) -> bool:
    return _mostly_acked(evidence) and _done(evidence, "flush") is not None


def _batch_with_time(_: Evidence, batch: Batch) -> bool:
    return all((send.complete_ns or 0) - send.invoke_ns > SOON_NS for send in batch.sends)


PERTURBATIONS = (
    Perturbation(
        "gave-up-at-once",
        HISTORY,
        "reports records as unknown 5 ms after they were handed over",
        ("gave-up",),
        _can_give_up,
        _gave_up,
        guarantees=DURABLE,
    ),
    Perturbation(
        "gave-up-answered-batch",
        HISTORY,
        "reports records as unknown whose acknowledgement it has read",
        ("gave-up",),
        _can_give_up,
        _gave_up_after_ack,
        guarantees=DURABLE,
    ),
    Perturbation(
        "gave-all-up",
        HISTORY,
        "acknowledges one record and gives up all others after 5 ms",
        ("gave-up",),
        once(lambda evidence: _mostly_acked(evidence) and _settable(evidence)),
        _gave_all_up,
        guarantees=DURABLE,
    ),
    Perturbation(
        "gave-all-up-without-retries",
        channels("history", "record"),
        "cannot be told how often to retry, and gives up all records but one after 5 ms",
        ("gave-up-early", "gave-up"),
        once(_mostly_acked),
        _gave_all_up_unlimited,
        Verdict.DIFFERS,
        DURABLE,
    ),
    Perturbation(
        "gave-half-up-without-retries",
        channels("history", "record"),
        "cannot be told how often to retry, and gives up every second record after 5 ms",
        ("gave-up-early", "gave-up"),
        once(_mostly_acked),
        _half_given_up,
        Verdict.DIFFERS,
        DURABLE,
    ),
    Perturbation(
        "no-result",
        HISTORY,
        "never reports what became of a batch, though its flush succeeds",
        PENDING,
        spots(),
        _no_result,
    ),
    Perturbation(
        "no-result-for-one",
        HISTORY,
        "never reports what became of one record of a batch",
        PENDING,
        spots(),
        _no_result_for_one,
    ),
    Perturbation(
        "stuck",
        HISTORY,
        "never reports what became of the last quarter of its records, and neither flush nor close succeeds",
        PENDING,
        _idle_in_flush,
        _all_pending,
    ),
    Perturbation(
        "stuck-on-an-answer",
        HISTORY,
        "waits for an answer long after its request.timeout.ms, and never reports what became of its records",
        PENDING,
        _awaited_in_flush,
        _all_pending,
    ),
    Perturbation(
        "result-after-flush",
        HISTORY,
        "returns from flush two seconds before the results of the last batch",
        ("false-flush",),
        _tail,
        _results_after("flush"),
    ),
    Perturbation(
        "result-after-close",
        HISTORY,
        "returns from close two seconds before the results of the last batch",
        ("false-flush",),
        lambda evidence: _tail(evidence) if _done(evidence, "close") else (),
        _results_after("close"),
    ),
    Perturbation(
        "flush-never-returns",
        HISTORY,
        "does not return from flush",
        ("hung-call",),
        lambda evidence: _ended(evidence, "flush"),
        _never_returned,
    ),
    Perturbation(
        "close-never-returns",
        HISTORY,
        "does not return from close",
        ("hung-call",),
        lambda evidence: _ended(evidence, "close"),
        _never_returned,
    ),
    Perturbation(
        "late-result",
        channels("history", "frames", "log"),
        "reports what became of a batch when every time limit is over",
        ("delivery-timeout",),
        _can_be_late,
        _later_than_allowed,
        Verdict.DIFFERS,
    ),
    Perturbation(
        "crash",
        HISTORY,
        "ends its own process while records wait for their results",
        ("crashed",),
        _tail,
        _crashed,
    ),
)
