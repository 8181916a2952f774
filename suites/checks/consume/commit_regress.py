"""# commit-regress

## What it does

Compares the successful commits that one process made for one partition while it owned it, in the order of their calls:
their offsets must not fall.

## Why it is bad

The group forgets what it has done. The next owner begins further back than the application was told, and repeats work
whose commit had succeeded.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a difference. Nothing is lost, and Java's positions only rise while a partition is
  owned.

Not judged: commits after the application has sought a position, or while a fault may have made positions out of range,
and commits of two ownerships.

## What it needs

The members' histories.

## References

CSM-OFC-06 (``SubscriptionState#allConsumed``). A client that repeats a failed asynchronous commit after a later one
does this, and Java does not repeat them for that reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.commits import Commit, commits
from suites.analysis.consuming.ownership import ownerships
from suites.analysis.consuming.resets import may_reset
from suites.analysis.promises import BY_COMMITS

REGRESS = Anomaly(
    "commit-regress",
    "{count:commit} of an offset smaller than the one that the same owner had committed before",
    Level.SHOULD,
)


def steps(evidence: Evidence) -> Iterator[tuple[Commit, Commit]]:
    """Yield each two successive successful commits that one owner called for a partition, unless it has sought."""
    for each in ownerships(evidence):
        if len(each.runs) > 1:
            continue
        mine = [
            made
            for made in commits(evidence).get(each.partition, ())
            if made.member == each.process and made.success and made.invoke_ns >= each.begin_ns
            if each.end_ns is None or made.invoke_ns <= each.end_ns
        ]
        yield from pairwise(mine)


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
    killed_mutant="",
    run=run,
    workloads=frozenset({"consume"}),
)
