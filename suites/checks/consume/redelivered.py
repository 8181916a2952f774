"""# redelivered

## What it does

Looks at each time that a process was newly assigned a partition, and compares what it was given with the offset that
the group had stored by then: the largest that a member had committed successfully.

## Why it is bad

A commit is what lets a group go on where it stopped. A member that begins before it repeats work that was reported as
done. With at-most-once processing the record's effect happens twice, which the application has ruled out.

## How it is judged per guarantee

- **at-most-once**: forbidden. Such a member commits before it processes, so a record that it processed is not read
  again.
- **at-least-once**: a difference. At-least-once allows repetition, and Java repeats only what was not committed.

Not judged: positions that the application sought, or that a fault made out of range, and topics that were created
again.

## What it needs

The members' histories: assignments, deliveries, and commits with their results. A commit of a smaller offset that may
have been stored later is an excuse for what follows it.

## References

CSM-FET-11 (``ConsumerCoordinator#initWithCommittedOffsetsIfNeeded``). Jepsen's ``int-nonmonotonic-poll`` across
rebalances.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Guarantee, Level
from harness.plugins.check import Check, Requirement
from harness.workloads.consume.accounting import Delivery
from suites.analysis.consuming.commits import stored_at_least, vouched
from suites.analysis.consuming.ownership import Ownership, ownerships
from suites.analysis.consuming.resets import may_begin_again
from suites.analysis.consuming.tried import is_tried
from suites.analysis.promises import BY_COMMITS
from suites.analysis.recreated import recreations

AGAIN = Anomaly(
    "processed-again",
    "{count:record} delivered to a new owner although a commit before their processing had succeeded",
)
REDELIVERED = Anomaly(
    "redelivered",
    "{count:record} delivered to a new owner although they had been committed before it was assigned the partition",
    Level.SHOULD,
)


def begun(evidence: Evidence) -> Iterator[tuple[Ownership, int, list[Delivery]]]:
    """Yield each assignment, the offset that was stored by then, and what was delivered before any seek or reset."""
    if recreations(evidence):
        return
    for each in ownerships(evidence):
        if not each.is_declared or not is_tried(evidence, each.process):
            continue
        stored = stored_at_least(vouched(evidence).get(each.partition, ()), each.begin_ns)
        yield each, stored, list(takewhile(lambda got: not may_begin_again(evidence, got), each.runs[0]))


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the records."""
    again: list[Sample] = [
        {"member": owner.process, "partition": got.partition, "offset": got.offset, "stored": stored}
        for owner, stored, first in begun(evidence)
        for got in first
        if got.offset < stored
    ]
    if not again:
        return []
    is_once = evidence.record.spec.guarantee is Guarantee.AT_MOST_ONCE
    return [(AGAIN if is_once else REDELIVERED).found(len(again), again)]


def _arises(evidence: Evidence) -> int:
    """Count the assignments of partitions that had a stored offset."""
    return sum(1 for _, stored, first in begun(evidence) if stored and first)


CHECK = Check(
    name="redelivered",
    summary="Records delivered to a new owner although their commit had succeeded before.",
    requirements=(
        Requirement("E2E-DEL-07", Level.MUST, frozenset({Guarantee.AT_MOST_ONCE}), _arises),
        Requirement("CSM-FET-11", Level.SHOULD, arises=_arises),
    ),
    guarantees=BY_COMMITS,
    requires=frozenset({"history", "faults"}),
    killed_mutant="begins_at_the_start_of_the_log",
    run=run,
    workloads=frozenset({"consume"}),
)
