"""# reordered

## What it does

Compares, in each partition, the order in which acknowledged records were sent with the order of their first
copies in the log.

## Why it is bad

A reader of the partition sees a newer state overwritten by an older one. Kafka offers order within a
partition instead of a global order. A client that breaks this order breaks every consumer that relies on it.

## How it is judged per guarantee

- **idempotent, transactional**: forbidden. Sequence numbers exist for this, with up to five requests in flight.
- **at-least-once, max.in.flight.requests.per.connection=1**: forbidden, since no request can overtake another.
- **at-least-once, more in flight**: allowed if explained. After the overtaken record had been handed over,
  and before the broker had the request that delivered it, an attempt failed that can have been the record's
  own, or an attempt can have failed unseen on the way to its broker. If that attempt was certainly for other
  records, in its partition or beside it on the connection, the overtaking was avoidable: a difference, not a
  failure. The same holds if two records of one batch are in the wrong order, since no broker reverses a
  batch. If nothing failed there at all, it is a failure.
- **at-most-once**: as at-least-once.

Only first copies count: a late duplicate is not a reordering.

## What it needs

The history and the log. To explain an overtaking, the witness's frames and the faults as they happened. If
something passed unread on the way to the partition's broker during the record's life, an unexplained
overtaking is inconclusive. A stall of the client's process does not excuse a wrong order.

## References

PRD-SND-14, PRD-ACC-08, E2E-DEL-02, E2E-DEL-03, PRD-IDM-07 (KIP-98). Jepsen's ``nonmonotonic-send``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding, Reason
from harness.model.verdicts import Level
from harness.plugins.check import Check, Inconclusive, Requirement
from harness.workloads.produce import accounting
from harness.workloads.produce.accounting import Inversion
from suites.analysis.attempts import BatchPlace, batch_place
from suites.analysis.disturbance import HARNESS_STALLED, harness_stalled_ms
from suites.analysis.failures import failed_attempts
from suites.analysis.findings import UNREADABLE, of_copy
from suites.analysis.promises import AT_LEAST_ONCE, EVERY, EXACTLY_ONCE, exactly_once
from suites.analysis.retry_cause import Cause, Explainer
from suites.analysis.unread import unread_about

REORDERED = Anomaly("reordered", "{count:record} overtaken in the log by records that were sent later")
UNEXPLAINED = Anomaly("unexplained-reorder", "{count:record} reordered without any failed request")
AVOIDABLE = Anomaly(
    "avoidable-reorder",
    "{count:record} reordered although only another attempt on their path had failed, or within one batch",
    Level.SHOULD,
)
IN_FLIGHT = "max.in.flight.requests.per.connection"


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each anomaly, which counts the overtaken records."""
    inversions = accounting.inversions(evidence)
    if not inversions:
        return []
    if exactly_once(evidence) or _one_in_flight(evidence):
        return _found(REORDERED, inversions)
    explainer = Explainer(evidence)
    by_cause: dict[Cause, list[Inversion]] = defaultdict(list)
    for each in inversions:
        by_cause[explainer.overtaking(each)].append(each)
    bare, avoidable = by_cause[Cause.NONE], by_cause[Cause.NEIGHBOUR]
    doubts = {each: _doubt(evidence, each) for each in bare}
    accused = [each for each in bare if doubts[each] is None]
    if bare and not accused:
        raise Inconclusive(next(doubt for doubt in doubts.values() if doubt is not None))
    return [*_found(UNEXPLAINED, accused), *_found(AVOIDABLE, avoidable)]


def _found(anomaly: Anomaly, inversions: list[Inversion]) -> list[Finding]:
    return [anomaly.found(len(inversions), map(_sample, inversions))] if inversions else []


def _doubt(evidence: Evidence, found: Inversion) -> Reason | None:
    """Return the unknown fact that may explain the overtaking, or None if there is none."""
    send = evidence.operations[found.n]
    until_ns = send.invoke_ns if send.complete_ns is None else send.complete_ns
    of, told = UNEXPLAINED.code, f"record {found.n} was overtaken without any failed request"
    if hidden := unread_about(evidence, found.record.partition, send.invoke_ns, until_ns):
        return UNREADABLE.reason(of=of, told=told, count=hidden)
    if late_ms := harness_stalled_ms(evidence, send.invoke_ns, until_ns):
        return HARNESS_STALLED.reason(of=of, told=told, stalled_ms=late_ms)
    return None


def _one_in_flight(evidence: Evidence) -> bool:
    return evidence.record.spec.config.get(IN_FLIGHT) == 1 and IN_FLIGHT not in evidence.record.not_set


def _sample(found: Inversion) -> Sample:
    return of_copy(found.record, found.n) | {"overtaken_by": found.overtaken_by}


def _ordered(evidence: Evidence) -> int:
    """Count the partitions with more than one acknowledged batch. Partitions with fewer have no order to keep."""
    batches = defaultdict[int, set[int]](set)
    for place in _acknowledged_places(evidence):
        batches[place.partition].add(place.base_offset)
    return sum(len(offsets) > 1 for offsets in batches.values())


def _acknowledged_places(evidence: Evidence) -> Iterable[BatchPlace]:
    copies = evidence.copies
    return (batch_place(copies[n][0]) for n in evidence.acknowledged if n in copies)


def _put_to_the_test(evidence: Evidence) -> int:
    """Count the failed attempts, if a partition has an order to keep."""
    return failed_attempts(evidence) if _ordered(evidence) else 0


CHECK = Check(
    name="reordered",
    summary="Acknowledged records that are in a partition after records that were sent later.",
    requirements=(
        Requirement("PRD-SND-14", Level.MUST, arises=_ordered),
        Requirement("E2E-DEL-02", Level.MUST, EXACTLY_ONCE, arises=_ordered),
        Requirement("E2E-DEL-03", Level.MUST, AT_LEAST_ONCE, arises=_put_to_the_test),
    ),
    guarantees=EVERY,
    requires=frozenset({"history", "log", "frames", "faults"}),
    killed_mutant="reorders_on_retry",
    run=run,
)
