"""# duplicate

## What it does

Looks for records that are in the log more than once, and for the Produce request that brought each further copy.

## Why it is bad

An order is executed twice, an amount is booked twice. A client that claims idempotence promises that this cannot
happen; one that does not may still write a record again only because it could not know that it was written.

## How it is judged per guarantee

- **idempotent, transactional**: forbidden. One further copy is enough, whatever its cause.
- **at-least-once**: allowed if explained. Each further copy must come from a Produce request that the witness saw,
  and at that moment the client had a reason to send again: the earlier request had been answered with an error, its
  connection had ended before the answer can have arrived, or no answer came within request.timeout.ms. A copy that
  was sent again after the client had reported the record as written is never explained.
- **at-most-once**: not judged; no catalogued behaviour forbids it.

## What it needs

The log and, for at-least-once, the witness's frames and the faults as they were. Where the witness could not read
part of the traffic, or the client's process stood still, an unexplained copy is inconclusive and not a failure.
Two moments are compared with half a second of slack and the latency that the faults added.

## References

E2E-DEL-02, E2E-DEL-03, PRD-SND-06, PRD-IDM-03, PRD-IDM-05 (KIP-98). Jepsen's ``duplicate``.
"""

from __future__ import annotations

from harness import delivery
from harness.anomaly import Anomaly, ReasonKind
from harness.check import Check, Inconclusive, Requirement
from harness.evidence import Evidence
from harness.outcome import Guarantee, Level
from harness.rows import Finding, LogRecord
from suites.checks.attempts import undecoded
from suites.checks.disturbance import doubt_if_disturbed
from suites.checks.explain import REQUEST_TIMEOUT, Explainer
from suites.checks.findings import doubt_if_unreadable, of_copies
from suites.checks.promises import AT_LEAST_ONCE, DURABLE, EXACTLY_ONCE

DUPLICATE = Anomaly("duplicate", "{records:record} more than once in the log, {count} surplus in all")
UNEXPLAINED = Anomaly(
    "unexplained-duplicate", "{count:record} more than once in the log for no reason: {told}"
)
NO_TIMEOUT = ReasonKind(
    "request-timeout-unknown", "{of}: {told}, but the client's request timeout is unknown"
)


def find(evidence: Evidence) -> list[Finding]:
    """At most one finding: surplus copies where all are forbidden, else the records that nothing explains.

    Inconclusive where what is not known might explain them.
    """
    duplicates = delivery.duplicates(evidence)
    if evidence.record.spec.guarantee is Guarantee.AT_LEAST_ONCE:
        return _unexplained(evidence, duplicates)
    if not duplicates:
        return []
    surplus = delivery.surplus(evidence)
    samples = (of_copies(n, copies) for n, copies in duplicates.items())
    return [DUPLICATE.found(surplus, samples, records=len(duplicates))]


def _unexplained(evidence: Evidence, duplicates: dict[int, list[LogRecord]]) -> list[Finding]:
    explainer = Explainer(evidence)
    reasons = {n: explainer.why_not(n, copies) for n, copies in duplicates.items()}
    unexplained = {n: why for n, why in reasons.items() if why is not None}
    if not unexplained:
        return []
    first = next(iter(unexplained.values()))
    samples = (of_copies(n, duplicates[n]) | {"why": why} for n, why in unexplained.items())
    found = UNEXPLAINED.found(len(unexplained), samples, told=first)
    doubt_if_disturbed(evidence, found)
    if REQUEST_TIMEOUT in evidence.record.not_set:
        raise Inconclusive(NO_TIMEOUT.reason(of=found.anomaly, told=found.message))
    doubt_if_unreadable(found, undecoded(evidence))
    return [found]


CHECK = Check(
    name="duplicate",
    summary="Records that are in the log more than once, against the promise or for no reason.",
    requirements=(
        Requirement("E2E-DEL-02", Level.MUST, EXACTLY_ONCE),
        Requirement("E2E-DEL-03", Level.MUST, AT_LEAST_ONCE),
    ),
    guarantees=DURABLE,
    channels=frozenset({"history", "log", "frames", "faults"}),
    mutant="retries_with_new_sequence",
    find=find,
)
