"""# not-owned

## What it does

Looks at each record that a subscribed process got, and at whether its listener said by then that the process owned the
record's partition.

## Why it is bad

When a partition is taken away, the application stores what it has done and forgets its state. Records that come
afterwards are processed a second time by the next owner, or are applied to state that is no longer kept.

## How it is judged per guarantee

- **at-least-once, at-most-once**: forbidden. A poll takes nothing from a partition that was revoked before it.

Not judged: processes whose listener reports nothing, and partitions that the application assigned itself. A second
between two threads' reports is allowed, and so is the time for which the process was frozen in between.

## What it needs

The members' histories. If the process stalled in between, the trial is inconclusive.

## References

CSM-FET-03 (``FetchCollector#initialize``, KIP-429): what was fetched for an assignment that has ended is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.workloads.consume import accounting
from harness.workloads.consume.accounting import Delivery
from suites.analysis.consuming.declared import declared
from suites.analysis.consuming.lives import frozen
from suites.analysis.consuming.timing import SLACK_NS
from suites.analysis.consuming.tried import is_tried
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.excuses import grants
from suites.analysis.promises import BY_COMMITS

NOT_OWNED = Anomaly("not-owned", "{count:record} taken from a partition that the process did not own")


@grants("reported-late", "frozen-between-reports")
def strays(evidence: Evidence) -> Iterator[tuple[Delivery, int]]:
    """Yield each record from a partition that its process did not own, and when it last did, or 0."""
    stopped = frozen(evidence)
    for got in _judged(evidence):
        spans = declared(evidence)[got.member].get(got.partition, [])
        if any(span.begin_ns - SLACK_NS <= got.polled_ns <= span.end_ns for span in spans):
            continue
        ended_ns = max((span.end_ns for span in spans if span.end_ns < got.polled_ns), default=0)
        asleep_ns = sum(span.overlap_ns(ended_ns, got.polled_ns) for span in stopped[got.member])
        if got.polled_ns - ended_ns - asleep_ns > SLACK_NS:
            yield got, ended_ns


def _judged(evidence: Evidence) -> Iterator[Delivery]:
    known = declared(evidence)
    return (
        got
        for got in accounting.deliveries(evidence)
        if got.member in known and is_tried(evidence, got.member)
    )


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the records. Inconclusive if a stall lies in between."""
    stray = list(strays(evidence))
    if not stray:
        return []
    samples: list[Sample] = [
        {"member": got.member, "partition": got.partition, "offset": got.offset} for got, _ in stray
    ]
    found = NOT_OWNED.found(len(stray), samples)
    for got, ended_ns in stray:
        doubt_if_stalled(evidence, found, ended_ns or got.polled_ns - SLACK_NS, got.polled_ns)
    return [found]


def _arises(evidence: Evidence) -> int:
    """Count the records of processes that own partitions."""
    return sum(1 for _ in _judged(evidence))


CHECK = Check(
    name="not-owned",
    summary="Records that a process got from a partition that it did not own.",
    requirements=(Requirement("CSM-FET-03", Level.MUST, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"history"}),
    killed_mutant="reads_what_was_revoked",
    run=run,
    workloads=frozenset({"consume"}),
)
