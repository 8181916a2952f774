"""# stuck

## What it does

Looks for a time after the faults in which the client did nothing for its records: no acknowledgement, no Produce
request, no answer to one, though records were pending all the while, for longer than the largest timeout that the
client said it applied.

## Why it is bad

The network is back, and the client is not. Its application waits for results that never arrive, its buffer fills, and
only a restart helps: a fault of a second has become an outage without end, and no error says so.

## How it is judged per guarantee

Forbidden under all, whichever settings the client lacks. The bound is the largest of the client's own timeouts
(delivery.timeout.ms, request.timeout.ms, max.block.ms, linger.ms, metadata.max.age.ms, retry and reconnect backoffs,
the limit on a connection's set-up) and ten seconds; thirty seconds stand for a timeout that it could not be given.

## What it needs

The history, and the frames at the witness. Other requests than Produce are no progress, and neither are records that
fail. The time begins when the
network has healed; for as long as an answer told the client to hold back, it had a reason to do nothing. What the
client's process (by its heartbeat) or a broker (by its answers) stalled in that very time is taken off; if the rest is
below the bound, the trial is inconclusive. An answer that the client awaited for longer than the bound excuses nothing
if it applied a request.timeout.ms: it had to give that request up. A client that ended its own process is
``still-pending``'s to judge. Records and calls that never end follow from it, where it lasted to the end of the trial,
or where they were handed over or called before it was over.

## References

``no progress after heal`` in Jepsen's reports. sarama 1.60.0 does so after a reset, rarely: one partition stays closed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace as changed

from harness.anomaly import Anomaly
from harness.availability import Span, gaps, last_fault_end_ns
from harness.check import Check, Inconclusive, Requirement
from harness.contract import CRASHED, Fatal, OpComplete, OpInvoke
from harness.evidence import Evidence, Send, view
from harness.liveness import bound_ms, progress_ns
from harness.outcome import Level
from harness.rows import Finding
from harness.units import NS_PER_MS
from suites.checks.analysis.excuses import grants
from suites.checks.disturbance import (
    BROKER_STALLED,
    CLIENT_STALLED,
    SILENT_MS,
    STARVED_MS,
    silences,
    slow_answers,
)
from suites.checks.findings import of_send
from suites.checks.promises import EVERY

REQUEST_TIMEOUT = "request.timeout.ms"

STUCK = Anomaly(
    "stuck",
    "no progress for {idle_ms} ms after the network had healed, with {count:record} pending; "
    "the client's own largest timeout, with slack, is {bound_ms} ms",
)


class Stall(NamedTuple):
    """A time without progress, and the records that were pending when it began."""

    span: Span
    pending: tuple[Send, ...]


@grants("largest-timeout")
def find(evidence: Evidence) -> list[Finding]:
    """At most one finding, counting the records that waited. Inconclusive if client or broker stalled meanwhile."""
    found = stall(evidence)
    limit_ms = bound_ms(evidence.record.spec.config, evidence.record.not_set)
    if found is None or found.span.length_ms <= limit_ms:
        return []
    finding = STUCK.found(
        len(found.pending), map(of_send, found.pending), idle_ms=found.span.length_ms, bound_ms=limit_ms
    )
    _doubt_if_stalled(evidence, found.span, limit_ms, finding)
    return [changed(finding, explains=_explained(evidence, found.span))]


@grants("follows-from-stuck")
def _explained(evidence: Evidence, span: Span) -> tuple[str, ...]:
    """What can all have come of it: records and calls without an end, handed over or called before it was over."""
    pending_ns = [send.invoke_ns for send in evidence.sends.values() if send.complete_ns is None]
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
@grants("told-to-hold-back")
def stall(evidence: Evidence) -> Stall | None:
    """The longest time without progress, after healing and before the close, with records pending at every moment."""
    phases = evidence.record.phases
    if phases.heal_ns is None or phases.final_ns is None or _crashed(evidence):
        return None
    begin_ns, end_ns = max(phases.heal_ns, last_fault_end_ns(evidence) or 0), phases.final_ns
    waits = (
        Span(max(send.invoke_ns, begin_ns), min(until_ns, end_ns))
        for send in evidence.sends.values()
        if (until_ns := end_ns if send.complete_ns is None else send.complete_ns) > begin_ns
    )
    moments = progress_ns(evidence.history, (*evidence.frames, *evidence.stopped))
    longest = max(gaps(waits, moments), key=lambda gap: gap.length_ms, default=None)
    return longest and Stall(longest, _pending_at(evidence, longest.begin_ns))


def waiting_when_healed(evidence: Evidence) -> int:
    """How many records had no result yet when the last fault was over."""
    healed_ns = last_fault_end_ns(evidence)
    return 0 if healed_ns is None else len(_pending_at(evidence, healed_ns))


def _pending_at(evidence: Evidence, moment_ns: int) -> tuple[Send, ...]:
    return tuple(
        [
            send
            for send in evidence.sends.values()
            if send.invoke_ns <= moment_ns and (send.complete_ns is None or send.complete_ns > moment_ns)
        ]
    )


def _crashed(evidence: Evidence) -> bool:
    return any(isinstance(event, Fatal) and event.error == CRASHED for event in evidence.history)


@grants("stalled-while-stuck")
def _doubt_if_stalled(evidence: Evidence, span: Span, limit_ms: int, found: Finding) -> None:
    """Raise Inconclusive if the time without progress suffices only with that in which a process stalled."""
    client_ms = _inside_ms(span, silences(evidence), STARVED_MS)
    answers = slow_answers(evidence)
    if REQUEST_TIMEOUT not in evidence.record.not_set:
        answers = [answer for answer in answers if answer.length_ms <= limit_ms]
    broker_ms = _inside_ms(span, answers, SILENT_MS)
    if span.length_ms - client_ms - broker_ms > limit_ms:
        return
    kind, stalled_ms = max((CLIENT_STALLED, client_ms), (BROKER_STALLED, broker_ms), key=lambda each: each[1])
    raise Inconclusive(kind.reason(of=found.anomaly, told=found.message, stalled_ms=stalled_ms))


def _inside_ms(span: Span, stalls: Iterable[Span], least_ms: int) -> int:
    """How much of ``span`` lies in stalls that are longer than ``least_ms``."""
    covered_ns, until_ns = 0, span.begin_ns
    for begin_ns, end_ns in sorted(each for each in stalls if each.length_ms > least_ms):
        begin_ns, end_ns = max(begin_ns, until_ns), min(end_ns, span.end_ns)
        if begin_ns < end_ns:
            covered_ns, until_ns = covered_ns + end_ns - begin_ns, end_ns
    return covered_ns // NS_PER_MS


CHECK = Check(
    name="stuck",
    summary="Records that the client left alone for ever, though the network had healed.",
    requirements=(Requirement("E2E-LIV-01", Level.MUST, arises=waiting_when_healed),),
    guarantees=EVERY,
    channels=frozenset({"history", "frames", "faults"}),
    mutant="stalls_after_reset",
    find=find,
)
