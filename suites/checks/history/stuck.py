"""# stuck

## What it does

Looks for a time after the faults in which the client did nothing for its records: no acknowledgement, no
Produce request and no answer to one, although records were pending throughout, for longer than the largest
timeout that the client said it applied (``stuck``). Also looks for a time of this length in which more than
ten batches were answered as written but no record got a result of any kind (``livelock``).

## Why it is bad

The network has recovered, but the client has not. Its application waits for results that never arrive, its
buffer fills, and only a restart helps. A fault of one second has become an endless outage that no error
reports.

## How it is judged per guarantee

Forbidden under all guarantees, whichever settings the client lacks. The bound is the largest of the client's
own timeouts (delivery.timeout.ms, request.timeout.ms, max.block.ms, linger.ms, metadata.max.age.ms, retry and
reconnect backoffs, the limit on connection setup) plus ten seconds. A timeout that the client could not be
given counts as thirty seconds.

## What it needs

The history, and the frames at the witness. Requests other than Produce do not count as progress, and neither
do records that fail. The time begins when the network has healed. While an answer told the client to hold
back, the client had a reason to do nothing. Stalls within this time of the client's process (by its
heartbeat), a broker (by its answers) or the harness are subtracted; if the rest is below the bound, the trial
is inconclusive. If the client applied a request.timeout.ms, an answer that it awaited for longer than the
bound is not an excuse: it should have given up that request. ``still-pending`` judges a client that ended its
own process. Records and calls that never end follow from a stuck client if it was stuck to the end of the
trial, or if they were handed over or called before it recovered.

## References

``no progress after heal`` in Jepsen's reports. sarama 1.60.0 does so after a reset, rarely: one partition
stays closed. platformatic-kafka 2.12.1 loops forever with three brokers: batches that it put into one request
because of stale metadata stay together, so the leader of one of its partitions stores that batch again each
time and refuses the others.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace as changed

from harness.judging.availability import Span, gaps, last_fault_end_ns, merged
from harness.model.anomaly import Anomaly
from harness.model.contract import CRASHED, Fatal, OpComplete, OpInvoke
from harness.model.evidence import Evidence, Operation, view
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level
from harness.plugins.check import Check, Inconclusive, Requirement
from harness.trial.patience import bound_ms, progress_ns
from suites.analysis.attempts import PRODUCE, attempts
from suites.analysis.disturbance import (
    BROKER_STALLED,
    CLIENT_STALLED,
    HARNESS_STALLED,
    SILENT_MS,
    STARVED_MS,
    harness_stalls,
    silences,
    slow_answers,
    stalled_ns,
)
from suites.analysis.excuses import grants
from suites.analysis.findings import of_send
from suites.analysis.promises import EVERY
from suites.analysis.sending import REQUEST_TIMEOUT, sending

#: How many batches may be answered as written, one after the other, while no record gets a result.
FEW_ROUNDS = 10

STUCK = Anomaly(
    "stuck",
    "no progress for {idle_ms} ms after the network had healed, with {count:record} pending; "
    "the client's own largest timeout, with slack, is {bound_ms} ms",
)


LIVELOCK = Anomaly(
    "livelock",
    "no record had a result for {idle_ms} ms after the network had healed, with {count:record} pending, though "
    "batches were answered as written; the client's own largest timeout, with slack, is {bound_ms} ms",
)


class Stall(NamedTuple):
    """A time without progress. ``idle_ms`` leaves out the time for which the client was told to hold back."""

    span: Span
    idle_ms: int


@grants("largest-timeout")
def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the waiting records.

    Inconclusive if stalls may explain every finding.
    """
    limit_ms = bound_ms(evidence.record.spec.config, evidence.record.not_set)
    doubt: Inconclusive | None = None
    for anomaly, found in ((STUCK, stall(evidence)), (LIVELOCK, circle(evidence))):
        if found is None or found.idle_ms <= limit_ms:
            continue
        pending = _pending_at(evidence, found.span.begin_ns)
        finding = anomaly.found(len(pending), map(of_send, pending), idle_ms=found.idle_ms, bound_ms=limit_ms)
        try:
            _doubt_if_stalled(evidence, found, limit_ms, finding)
        except Inconclusive as stalled:
            doubt = doubt or stalled
        else:
            return [changed(finding, explains=_explained(evidence, found.span))]
    if doubt is not None:
        raise doubt
    return []


@grants("follows-from-stuck")
def _explained(evidence: Evidence, span: Span) -> tuple[str, ...]:
    """Return the anomalies that can all follow from it.

    These are records and calls without an end that were handed over or called before the stall ended.
    """
    pending_ns = [send.invoke_ns for send in evidence.operations.values() if send.complete_ns is None]
    returned = {event.id for event in evidence.history if isinstance(event, OpComplete)}
    hung_ns = [
        event.mono_ns
        for event in evidence.history
        if isinstance(event, OpInvoke) and event.op != "send" and event.id not in returned
    ]
    is_to_the_end = span.end_ns == evidence.record.phases.final_ns
    consequences = {"still-pending": pending_ns, "hung-call": hung_ns}
    return tuple(
        [
            code
            for code, moments in consequences.items()
            if is_to_the_end or all(moment_ns < span.end_ns for moment_ns in moments)
        ]
    )


@view
def stall(evidence: Evidence) -> Stall | None:
    """The longest time without progress, after healing and before the close, with records pending at every moment."""
    moments_ns = progress_ns(evidence.history, (*evidence.frames, *evidence.blocked_frames), PRODUCE)
    return max(_waits(evidence, moments_ns), key=lambda each: each.idle_ms, default=None)


@view
@grants("a-few-rounds")
def circle(evidence: Evidence) -> Stall | None:
    """Return the longest time without any result in which many batches were answered as written."""
    results = (send.complete_ns for send in evidence.operations.values() if send.complete_ns is not None)
    heard_ns = sorted(_heard_ns(evidence))
    rounds = (
        each
        for each in _waits(evidence, results)
        if bisect_right(heard_ns, each.span.end_ns) - bisect_left(heard_ns, each.span.begin_ns) > FEW_ROUNDS
    )
    return max(rounds, key=lambda each: each.idle_ms, default=None)


def _heard_ns(evidence: Evidence) -> Iterator[int]:
    """Yield when batches were answered as written.

    Answers that a timeout or a lost connection can have kept from the client are left out.
    """
    known = sending(evidence)
    for attempt in attempts(evidence):
        is_told = attempt.accepted and attempt.answered_ns is not None
        if is_told and known.timed_out(attempt) is None and known.lost_with_connection(attempt) is None:
            yield attempt.answered_ns or 0


def _waits(evidence: Evidence, moments_ns: Iterable[int]) -> Iterator[Stall]:
    """Yield the intervals between these times, after healing and before the close, with records pending throughout."""
    phases = evidence.record.phases
    if phases.heal_ns is None or phases.final_ns is None or _crashed(evidence):
        return
    begin_ns, end_ns = max(phases.heal_ns, last_fault_end_ns(evidence) or 0), phases.final_ns
    waits = (
        Span(max(send.invoke_ns, begin_ns), min(until_ns, end_ns))
        for send in evidence.operations.values()
        if (until_ns := end_ns if send.complete_ns is None else send.complete_ns) > begin_ns
    )
    held_back = _held_back(evidence)
    for span in gaps(waits, moments_ns):
        yield Stall(span, span.length_ms - stalled_ns(held_back, *span) // NS_PER_MS)


@view
@grants("told-to-hold-back")
def _held_back(evidence: Evidence) -> list[Span]:
    """Return the intervals in which answers told the client to hold back."""
    throttled = (frame for frame in evidence.frames if frame.throttle_ms > 0)
    return merged(Span(frame.t_ns, frame.t_ns + frame.throttle_ms * NS_PER_MS) for frame in throttled)


def waiting_when_healed(evidence: Evidence) -> int:
    """Return how many records had no result yet when the last fault ended."""
    healed_ns = last_fault_end_ns(evidence)
    return 0 if healed_ns is None else len(_pending_at(evidence, healed_ns))


def _pending_at(evidence: Evidence, moment_ns: int) -> tuple[Operation, ...]:
    return tuple(
        [
            send
            for send in evidence.operations.values()
            if send.invoke_ns <= moment_ns and (send.complete_ns is None or send.complete_ns > moment_ns)
        ]
    )


def _crashed(evidence: Evidence) -> bool:
    return any(isinstance(event, Fatal) and event.error == CRASHED for event in evidence.history)


@grants("stalled-while-stuck")
def _doubt_if_stalled(evidence: Evidence, found: Stall, limit_ms: int, finding: Finding) -> None:
    """Raise Inconclusive if the time without progress exceeds the limit only because something stalled."""
    answers = slow_answers(evidence)
    if REQUEST_TIMEOUT not in evidence.record.not_set:
        answers = [answer for answer in answers if answer.length_ms <= limit_ms]
    stalls = {
        CLIENT_STALLED: _longer(silences(evidence), STARVED_MS),
        BROKER_STALLED: _longer(answers, SILENT_MS),
        HARNESS_STALLED: harness_stalls(evidence),
    }
    # If the whole machine stalls, each of the three sees it.
    if found.idle_ms - _inside_ms(chain.from_iterable(stalls.values()), found.span) > limit_ms:
        return
    inside_ms = {kind: _inside_ms(spans, found.span) for kind, spans in stalls.items()}
    kind, stalled_ms = max(inside_ms.items(), key=lambda each: each[1])
    raise Inconclusive(kind.reason(of=finding.anomaly, told=finding.message, stalled_ms=stalled_ms))


def _longer(spans: Iterable[Span], least_ms: int) -> list[Span]:
    return [each for each in spans if each.length_ms > least_ms]


def _inside_ms(stalls: Iterable[Span], span: Span) -> int:
    """Return how much of ``span`` lies in these stalls. Overlaps count once."""
    return stalled_ns(merged(stalls), *span) // NS_PER_MS


CHECK = Check(
    name="stuck",
    summary="Records that the client ignored or sent in an endless loop, although the network had healed.",
    requirements=(Requirement("E2E-LIV-01", Level.MUST, arises=waiting_when_healed),),
    guarantees=EVERY,
    requires=frozenset({"history", "frames", "faults"}),
    killed_mutant="stalls_after_reset",
    run=run,
)
