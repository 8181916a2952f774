"""# commit-unowned

## What it does

Looks for commits that succeeded although another process owned the partition throughout, and the one that committed had
not owned it when it called.

## Why it is bad

The stored offset belongs to the owner. A former owner's commit sets it back, so records are repeated, or moves it
beyond what the owner has done.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a difference. The coordinator refuses an outdated generation, but accepts any
  partition from a member of the current one.

Within a second, two processes may report in either order.

## What it needs

The members' histories: assignments, and commits with their results.

## References

CSM-OFC-03 (``ConsumerCoordinator#sendOffsetCommitRequest``): a commit of an outdated generation is not stored.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judging.availability import Span
from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.commits import Commit, commits
from suites.analysis.consuming.declared import declared
from suites.analysis.consuming.timing import SLACK_NS
from suites.analysis.consuming.tried import is_tried
from suites.analysis.excuses import grants
from suites.analysis.promises import BY_COMMITS

UNOWNED = Anomaly(
    "commit-unowned", "{count:commit} stored for a partition that only another process owned", Level.SHOULD
)


@grants("reported-late")
def outdated(evidence: Evidence) -> Iterator[Commit]:
    """Yield each commit of a process for a partition that another one, and not itself, owned for a second by then."""
    owned = declared(evidence)
    for partition, made in commits(evidence).items():
        for each in made:
            if each.member not in owned or not is_tried(evidence, each.member):
                continue
            during = Span(each.invoke_ns - SLACK_NS, each.complete_ns)
            mine = owned[each.member].get(partition, [])
            others = (
                span
                for process, of in owned.items()
                if process != each.member
                for span in of.get(partition, [])
            )
            is_elsewhere = any(
                span.begin_ns <= during.begin_ns and during.end_ns <= span.end_ns for span in others
            )
            if is_elsewhere and not any(span.overlap_ns(*during) for span in mine):
                yield each


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts partitions of commits."""
    stored: list[Sample] = [
        {"member": each.member, "partition": each.partition, "offset": each.offset}
        for each in outdated(evidence)
        if each.success
    ]
    return [UNOWNED.found(len(stored), stored)] if stored else []


def _arises(evidence: Evidence) -> int:
    return sum(1 for _ in outdated(evidence))


CHECK = Check(
    name="commit-unowned",
    summary="Commits stored for partitions that only another process owned.",
    requirements=(Requirement("CSM-OFC-03", Level.MUST, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"history"}),
    killed_mutant="reads_what_was_revoked",
    run=run,
    workloads=frozenset({"consume"}),
)
