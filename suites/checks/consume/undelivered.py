"""# undelivered

## What it does

Looks for a time after the faults in which no member was given any record, although records that no member
had been given waited in the log throughout, and a member lived, for longer than the largest timeout of the members.

## Why it is bad

The network has recovered, but the group has not. Records pile up, and only a restart helps. A fault of a second has
become an outage that no error reports.

## How it is judged per guarantee

- **at-least-once, at-most-once**: forbidden. The bound is the largest of the members' own timeouts (session.timeout.ms,
  max.poll.interval.ms, request.timeout.ms, metadata.max.age.ms, backoffs and others) plus ten seconds, plus the work on
  one poll. A timeout that the client could not be given counts as thirty seconds. The turn in which a member is when
  the network has healed does not count.

## What it needs

The members' histories, and every partition read to its end. The time begins when the network has healed. Stalls of a
member's process, a broker or the harness are subtracted; if the rest is below the bound, the trial is inconclusive.
A process that a fault has stopped does not stall. Records that the group passed do not wait (see ``skipped``),
nor do those that it need not deliver by its auto.offset.reset, nor those that an application dropped because it could
not commit them first and its client cannot seek.

## References

E2E-LIV-01. KafkaJS and sarama have known reports of groups that never resume after a rebalance.
"""

from __future__ import annotations

from itertools import chain

from harness.judging.availability import Span, gaps, last_fault_end_ns, merged
from harness.model.anomaly import Anomaly
from harness.model.evidence import Evidence, view
from harness.model.harness_events import RecordsWritten
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level
from harness.plugins.check import Check, Inconclusive, Requirement
from harness.workloads.consume import accounting
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.passed import dropped, passed
from suites.analysis.consuming.promised import is_promised
from suites.analysis.consuming.timing import idle_bound_ms
from suites.analysis.consuming.tried import doubt_if_shared
from suites.analysis.disturbance import (
    BROKER_STALLED,
    CLIENT_STALLED,
    HARNESS_STALLED,
    broker_stalls,
    client_stalls,
    harness_stalls,
    stalled_ns,
)
from suites.analysis.excuses import grants
from suites.analysis.promises import BY_COMMITS

UNDELIVERED = Anomaly(
    "undelivered",
    "no record delivered for {idle_ms} ms after the network had healed, with {count:record} waiting; the members' own "
    "largest timeout, with slack, is {bound_ms} ms",
)


@view
def waits(evidence: Evidence) -> dict[tuple[int, int], Span]:
    """Return for each written record that still waited when the network had healed, from when until when it did."""
    phases = evidence.record.phases
    if phases.heal_ns is None or phases.final_ns is None:
        return {}
    begin_ns, end_ns = max(phases.heal_ns, last_fault_end_ns(evidence) or 0), phases.final_ns
    first: dict[tuple[int, int], int] = {}
    for each in accounting.of_this_log(evidence):
        place = each.partition, each.offset
        first[place] = min(first.get(place, each.polled_ns), each.polled_ns)
    known, ends, gone = accounting.items(evidence), passed(evidence), dropped(evidence)
    found: dict[tuple[int, int], Span] = {}
    for event in evidence.history:
        if isinstance(event, RecordsWritten):
            for place in zip(event.partitions, event.offsets, strict=True):
                end = max(ends.get(place[0], 0), gone.get(place[0], 0))
                is_reached = place not in first and place[1] < end
                wait = Span(max(event.mono_ns, begin_ns), min(first.get(place, end_ns), end_ns))
                waits_for_group = place in known and not is_reached and is_promised(evidence, place)
                if waits_for_group and wait.begin_ns < wait.end_ns:
                    found[place] = wait
    return found


@view
def longest(evidence: Evidence) -> Span | None:
    """Return the longest time without a delivery in which records waited and a member lived throughout.

    It begins when that member has ended the turn in which it was.
    """
    polled = {each.polled_ns for each in accounting.deliveries(evidence)}
    spans = [
        life.after_work(span)
        for span in gaps(waits(evidence).values(), polled)
        for life in lives(evidence).values()
        if life.covers(span)
    ]
    return max(spans, key=lambda span: span.length_ms, default=None)


@grants("largest-timeout-of-members", "stalled-while-undelivered")
def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the waiting records. Inconclusive if stalls may explain it."""
    span, limit_ms = longest(evidence), idle_bound_ms(evidence)
    if span is None or span.length_ms <= limit_ms:
        return []
    pending = sorted(place for place, wait in waits(evidence).items() if wait.overlap_ns(*span))
    found = UNDELIVERED.found(
        len(pending),
        ({"partition": partition, "offset": offset} for partition, offset in pending),
        idle_ms=span.length_ms,
        bound_ms=limit_ms,
    )
    doubt_if_shared(evidence, found)
    stalls = {
        CLIENT_STALLED: client_stalls(evidence),
        BROKER_STALLED: broker_stalls(evidence),
        HARNESS_STALLED: harness_stalls(evidence),
    }
    inside_ns = stalled_ns(merged(chain.from_iterable(stalls.values())), *span)
    if span.length_ms - inside_ns // NS_PER_MS > limit_ms:
        return [found]
    ms = {kind: stalled_ns(merged(spans), *span) // NS_PER_MS for kind, spans in stalls.items()}
    kind, stalled_ms = max(ms.items(), key=lambda each: each[1])
    raise Inconclusive(kind.reason(of=found.anomaly, told=found.message, stalled_ms=stalled_ms))


def _arises(evidence: Evidence) -> int:
    return len(waits(evidence))


CHECK = Check(
    name="undelivered",
    summary="Records that no member was given although the network had healed.",
    requirements=(Requirement("E2E-LIV-01", Level.MUST, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"history", "log", "faults"}),
    killed_mutant="awaits_failed_fetches",
    run=run,
    workloads=frozenset({"consume"}),
)
