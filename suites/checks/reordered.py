"""# reordered

## What it does

Compares, in each partition, the order in which acknowledged records were sent with the order of their first copies
in the log.

## Why it is bad

Whoever reads the partition sees the newer state overwritten by the older one. Order within a partition is what Kafka
offers instead of a global order; a client that breaks it breaks every consumer that relies on it.

## How it is judged per guarantee

- **idempotent, transactional**: forbidden; sequence numbers exist for this, with up to five requests in flight.
- **at-least-once, max.in.flight.requests.per.connection=1**: forbidden; nothing can overtake.
- **at-least-once, more in flight**: allowed if explained: between the call that sent the overtaken record and the
  request that brought it, a connection ended or was made anew, a Produce error came back, or a request timed out.
- **at-most-once**: as at-least-once.

Only first copies count: a late duplicate is no reordering.

## What it needs

The history and the log; to explain, the witness's frames. Where the client's process stood still or the witness
could not read part of the traffic, an unexplained overtaking is inconclusive.

## References

PRD-SND-14, PRD-ACC-08, E2E-DEL-02, E2E-DEL-03, PRD-IDM-07 (KIP-98). Jepsen's ``nonmonotonic-send``.
"""

from __future__ import annotations

from harness import delivery
from harness.anomaly import Anomaly, Sample
from harness.check import Check, Requirement
from harness.delivery import Inversion
from harness.evidence import Evidence
from harness.outcome import Level
from harness.rows import Finding
from suites.checks.attempts import undecoded
from suites.checks.disturbance import doubt_if_disturbed
from suites.checks.explain import Explainer
from suites.checks.findings import doubt_if_unreadable, of_copy
from suites.checks.promises import AT_LEAST_ONCE, EVERY, EXACTLY_ONCE, exactly_once

REORDERED = Anomaly("reordered", "{count:record} overtaken in the log by records that were sent later")
UNEXPLAINED = Anomaly("unexplained-reorder", "{count:record} reordered without any failed request")
IN_FLIGHT = "max.in.flight.requests.per.connection"


def find(evidence: Evidence) -> list[Finding]:
    """At most one finding; it counts the records that were overtaken."""
    inversions = delivery.inversions(evidence)
    if exactly_once(evidence) or _one_in_flight(evidence):
        return [REORDERED.found(len(inversions), map(_sample, inversions))] if inversions else []
    explainer = Explainer(evidence)
    bare = [found for found in inversions if not explainer.overtaking_is_explained(found.n, found.record)]
    if not bare:
        return []
    found_bare = UNEXPLAINED.found(len(bare), map(_sample, bare))
    doubt_if_disturbed(evidence, found_bare)
    doubt_if_unreadable(found_bare, undecoded(evidence))
    return [found_bare]


def _one_in_flight(evidence: Evidence) -> bool:
    return evidence.record.spec.config.get(IN_FLIGHT) == 1 and IN_FLIGHT not in evidence.record.not_set


def _sample(found: Inversion) -> Sample:
    return of_copy(found.record, found.n) | {"overtaken_by": found.overtaken_by}


CHECK = Check(
    name="reordered",
    summary="Acknowledged records that stand in a partition behind records that were sent after them.",
    requirements=(
        Requirement("PRD-SND-14", Level.MUST),
        Requirement("E2E-DEL-02", Level.MUST, EXACTLY_ONCE),
        Requirement("E2E-DEL-03", Level.MUST, AT_LEAST_ONCE),
    ),
    guarantees=EVERY,
    channels=frozenset({"history", "log", "frames", "faults"}),
    mutant="reorders_on_retry",
    find=find,
)
