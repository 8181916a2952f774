"""# commit-regress

## What it does

Compares the successful commits that one process made for one partition while it owned it: their offsets must not fall,
neither in the order of the calls nor in that of the successes.

## Why it is bad

The group forgets what it has done. The next owner begins further back than the application was told, and repeats work
whose commit had succeeded.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a difference. Nothing is lost, and Java's positions only rise while a partition is
  owned.

Not judged: commits after the application has sought a position, or while a fault may have made positions out of range,
commits of two ownerships, and the order of successes within a second of each other.

## What it needs

The members' histories.

## References

CSM-OFC-06 (``SubscriptionState#allConsumed``). A client that repeats a failed asynchronous commit after a later one
does this, and Java does not repeat them for that reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.commits import Commit, commits
from suites.analysis.consuming.ownership import ownerships
from suites.analysis.consuming.resets import may_reset
from suites.analysis.consuming.timing import SLACK_NS
from suites.analysis.consuming.tried import is_tried
from suites.analysis.excuses import grants
from suites.analysis.promises import BY_COMMITS

REGRESS = Anomaly(
    "commit-regress",
    "{count:commit} of an offset smaller than the one that the same owner had committed before",
    Level.SHOULD,
)


def steps(evidence: Evidence) -> Iterator[tuple[Commit, Commit]]:
    """Yield each two successful commits of one owner of which one follows the other, unless it has sought."""
    yield from in_turn(evidence)
    for mine in _by_owner(evidence):
        yield from _overtaken(mine)


def in_turn(evidence: Evidence) -> Iterator[tuple[Commit, Commit]]:
    """Yield each two successful commits of one owner that were called one after the other, unless it has sought."""
    for mine in _by_owner(evidence):
        yield from pairwise(mine)


def _by_owner(evidence: Evidence) -> Iterator[list[Commit]]:
    for each in ownerships(evidence):
        if len(each.runs) > 1 or not is_tried(evidence, each.process):
            continue
        yield [
            made
            for made in commits(evidence).get(each.partition, ())
            if made.member == each.process and made.success and made.invoke_ns >= each.begin_ns
            if each.end_ns is None or made.invoke_ns <= each.end_ns
        ]


@grants("reported-late")
def _overtaken(mine: list[Commit]) -> Iterator[tuple[Commit, Commit]]:
    """Yield each commit that succeeded more than a second before one that was called earlier, and that one."""
    for number, late in enumerate(mine, start=1):
        for other in islice(mine, number, None):
            if other.invoke_ns + SLACK_NS >= late.complete_ns:
                break
            if other.complete_ns + SLACK_NS < late.complete_ns:
                yield other, late


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the commits."""
    fallen: list[Sample] = [
        {
            "member": after.member,
            "partition": after.partition,
            "offset": after.offset,
            "before": before.offset,
        }
        for before, after in steps(evidence)
        if after.offset < before.offset and not may_reset(evidence, after.invoke_ns)
    ]
    return [REGRESS.found(len(fallen), fallen)] if fallen else []


def _arises(evidence: Evidence) -> int:
    return sum(1 for _ in steps(evidence))


CHECK = Check(
    name="commit-regress",
    summary="Commits of smaller offsets than the same owner had committed before.",
    requirements=(Requirement("CSM-OFC-06", Level.MUST, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"history", "faults"}),
    killed_mutant="repeats_failed_async_commits",
    run=run,
    workloads=frozenset({"consume"}),
)
