"""# still-pending

## What it does

Looks for records that never got a result, although the faults are gone and the client had every chance: its
own delivery timeout has passed, or its flush or close has reported success. Also looks for records that got
their result only after a flush or close had returned successfully, for a flush or close that never returned,
and for a client library that ended its own process with an error that its application cannot catch.

## Why it is bad

A future that never completes leaks memory, blocks shutdown, and hides a loss: the application gets no report,
so it does not retry.

## How it is judged per guarantee

Forbidden under all guarantees. A result may be a success, a failure or "unknown"; having no result at all is
the violation. ``flush()`` and ``close()`` promise that every record sent before has a result when they
return.

## What it needs

The history to the end of the trial. The result is inconclusive if a record's delivery timeout has not passed
when the trial ends, or if the client, a broker or the harness stalled since the oldest of these records was
handed over, or since the call that does not return.

A client without a delivery timeout is judged by ``stuck``.

## References

PRD-CLS-01, PRD-CLS-03. ``stuck producer`` in the Bufstream report; ``no progress after heal``.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.anomaly import Anomaly, ReasonKind, Sample
from harness.model.contract import CRASHED, Fatal, OpComplete, OpInvoke
from harness.model.evidence import Evidence, Operation
from harness.model.exchanges import FOR_EVER
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level, Outcome
from harness.plugins.check import Check, Inconclusive, Requirement
from suites.analysis.disturbance import CLIENT_STALLED, client_stalls, stalled_by, stalled_ns
from suites.analysis.excuses import grants
from suites.analysis.findings import of_send
from suites.analysis.promises import EVERY
from suites.checks.history.delivery_timeout import SETTING, limit_ms

PENDING = Anomaly("still-pending", "{count:record} never got a result")
PENDING_AFTER_SUCCESS = Anomaly("still-pending", "{count:record} never got a result, though {ops} succeeded")
FALSE_FLUSH = Anomaly("false-flush", "{count:record} got a result only after a flush or close had returned")
HUNG = Anomaly("hung-call", "{ops} never returned, long after their timeout")
CRASHED_ITSELF = Anomaly(
    "crashed", "the client ended its own process, {pending:record} without a result: {told}"
)
NO_LIMIT = ReasonKind("no-limit", "{of}: {told}, but the client has no {setting}, so it may still be trying")
TIME_LEFT = ReasonKind("time-left", "{of}: {told}, but the oldest had {left_ms} ms left when the trial ended")

#: Different threads of a client may stamp results and the end of a flush.
SLACK_MS = 1_000


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind.

    Inconclusive if the client still had time, or if the client, a broker or the harness stalled.
    """
    if crash := _crashed(evidence):
        return [crash]
    return [*_never(evidence), *_too_late(evidence), *_hung(evidence)]


def _crashed(evidence: Evidence) -> Finding | None:
    """Return the crash of the client's process. It is reported before pending records are considered."""
    crash = next(
        (event for event in evidence.history if isinstance(event, Fatal) and event.error == CRASHED), None
    )
    if crash is None:
        return None
    pending = [send for send in evidence.operations.values() if send.pending]
    return CRASHED_ITSELF.found(
        max(1, len(pending)), map(of_send, pending), pending=len(pending), told=crash.message
    )


def _never(evidence: Evidence) -> list[Finding]:
    pending = [send for send in evidence.operations.values() if send.complete_ns is None]
    if not pending:
        return []
    oldest_ns = min(send.invoke_ns for send in pending)
    kept = tuple(event.op for event in _done(evidence) if event.invoke_ns[0] >= oldest_ns)
    kind = PENDING_AFTER_SUCCESS if kept else PENDING
    found = kind.found(len(pending), map(of_send, pending), ops=kept)
    if kept:
        _doubt_if_starved(evidence, oldest_ns, found)
    else:
        _doubt_unless_overdue(evidence, oldest_ns, found)
        _doubt_if_stalled(evidence, oldest_ns, FOR_EVER, found)
    return [found]


def _too_late(evidence: Evidence) -> list[Finding]:
    done = [(op.invoke_ns[0], op.complete_ns[0] + SLACK_MS * NS_PER_MS) for op in _done(evidence)]
    first_ns = min((until_ns for _, until_ns in done), default=0)
    late = [
        send
        for send in evidence.operations.values()
        if done and send.complete_ns is not None and send.complete_ns > first_ns and _is_late(send, done)
    ]
    if not late:
        return []
    found = FALSE_FLUSH.found(len(late), map(of_send, late))
    lived_ns = min(send.invoke_ns for send in late), max(send.complete_ns or 0 for send in late)
    _doubt_if_stalled(evidence, *lived_ns, found)
    return [found]


def _hung(evidence: Evidence) -> list[Finding]:
    answered = {event.id for event in evidence.history if isinstance(event, OpComplete)}
    invoked = [event for event in evidence.history if isinstance(event, OpInvoke) and event.op != "send"]
    hung = [event for event in invoked if event.id not in answered]
    if not hung:
        return []
    samples: Iterator[Sample] = ({"op": event.op, "invoke_ns": event.mono_ns} for event in hung)
    found = HUNG.found(len(hung), samples, ops=tuple(event.op for event in hung))
    called_ns = min(event.mono_ns for event in hung)
    # The heartbeats of a process that has stopped are missed up to the end of the trial.
    since_ns = min(called_ns, (evidence.record.phases.final_ns or called_ns) - 1)
    _doubt_if_stalled(evidence, since_ns, FOR_EVER, found)
    return [found]


def _done(evidence: Evidence) -> list[OpComplete]:
    """Return the flushes and closes that reported success."""
    ops = (
        event
        for event in evidence.history
        if isinstance(event, OpComplete) and event.op in ("flush", "close")
    )
    return [op for op in ops if op.outcome == [Outcome.OK]]


@grants("said-by-another-thread")
def _is_late(send: Operation, done: list[tuple[int, int]]) -> bool:
    """True if the result arrived after the end of a flush or close that was called after the send."""
    complete_ns = send.complete_ns or 0
    return any(send.invoke_ns < invoke_ns and complete_ns > until_ns for invoke_ns, until_ns in done)


@grants("stalled-while-pending")
def _doubt_if_stalled(evidence: Evidence, begin_ns: int, end_ns: int, found: Finding) -> None:
    """Raise Inconclusive if anything stalled in this interval."""
    if (stall := stalled_by(evidence, begin_ns, end_ns)) is not None:
        kind, stalled_ms = stall
        raise Inconclusive(kind.reason(of=found.anomaly, told=found.message, stalled_ms=stalled_ms))


@grants("client-stalled-while-pending")
def _doubt_if_starved(evidence: Evidence, begin_ns: int, found: Finding) -> None:
    """Raise Inconclusive if the client stalled after ``begin_ns``.

    Stalls of a broker do not count here, since a client that has reported success waits for no broker.
    """
    if stall_ns := stalled_ns(client_stalls(evidence), begin_ns, FOR_EVER):
        stalled_ms = stall_ns // NS_PER_MS
        raise Inconclusive(CLIENT_STALLED.reason(of=found.anomaly, told=found.message, stalled_ms=stalled_ms))


@grants("time-left")
def _doubt_unless_overdue(evidence: Evidence, oldest_ns: int, found: Finding) -> None:
    of, told = found.anomaly, found.message
    if SETTING in evidence.record.not_set:
        raise Inconclusive(NO_LIMIT.reason(of=of, told=told, setting=SETTING))
    end_ns = evidence.record.phases.end_ns
    left_ms = limit_ms(evidence) - ((end_ns or oldest_ns) - oldest_ns) // NS_PER_MS
    if left_ms > 0:
        raise Inconclusive(TIME_LEFT.reason(of=of, told=told, left_ms=left_ms))


CHECK = Check(
    name="still-pending",
    summary="Records that never got a result, or only after a flush or close had returned successfully.",
    requirements=(Requirement("PRD-CLS-01", Level.MUST), Requirement("PRD-CLS-03", Level.MUST)),
    guarantees=EVERY,
    requires=frozenset({"history"}),
    killed_mutant="drops_batch_on_disconnect",
    run=run,
)
