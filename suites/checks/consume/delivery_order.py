"""# delivery-order

## What it does

Looks at each time that one process owned one partition, and compares the offsets that it was given with the log:
they must rise, without a repetition, and without leaving out a record of the log in between.

## Why it is bad

Kafka's order is the order of a partition. An application that applies records one after another computes something
else if they come in another order, twice, or not at all.

## How it is judged per guarantee

- **at-least-once, at-most-once**: forbidden. Redelivery belongs to a new owner, or to a position that the application
  has sought; within one ownership there is no reason for it.

Between two ownerships anything may be repeated (see ``redelivered``). If a fault made positions out of range, an owner
may begin again with the first record of the log, or leave some out if auto.offset.reset is not earliest. It may leave
out a batch that a fault has damaged, if its application got an error before (see ``damaged-batch``).

An application of an at-most-once trial drops records that it could not commit first, if its client cannot seek back to
them. They are not a gap.

## What it needs

The members' histories, and every partition read to its end.

## References

CSM-FET-02 (``CompletedFetch#fetchRecords``, ``SubscriptionState``). Jepsen's ``int-poll-skip`` and
``int-nonmonotonic-poll``.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Guarantee, Level
from harness.plugins.check import Check, Requirement
from harness.workloads.consume import accounting
from harness.workloads.consume.accounting import Delivery
from suites.analysis.consuming.damages import is_told
from suites.analysis.consuming.ownership import ownerships
from suites.analysis.consuming.passed import is_dropped
from suites.analysis.consuming.resets import may_begin_again, may_pass_over
from suites.analysis.consuming.tried import is_tried

BACKWARDS = Anomaly(
    "delivered-again-or-backwards",
    "{count:record} delivered at or before an offset that the same owner had been given",
)
GAP = Anomaly("gap", "{count:record} left out between two records that one owner was given")


def run(evidence: Evidence) -> list[Finding]:
    """Return at most two findings: of records that came again or too late, and of records that were left out."""
    again = [_sample(after) for after in backwards(evidence) if not may_begin_again(evidence, after)]
    gaps: list[Sample] = [
        {"member": after.member, "partition": after.partition, "offset": offset}
        for before, after, offset in left_out(evidence)
        if not may_pass_over(evidence, after)
        and not is_told(evidence, (after.partition, offset))
        and not is_dropped(evidence, before, after, offset)
    ]
    found = []
    if again:
        found.append(BACKWARDS.found(len(again), again))
    if gaps:
        found.append(GAP.found(len(gaps), gaps))
    return found


def backwards(evidence: Evidence) -> Iterator[Delivery]:
    """Yield each delivery at or before the offset that the same owner had been given before it."""
    return (after for before, after in _steps(evidence) if after.offset <= before.offset)


def left_out(evidence: Evidence) -> Iterator[tuple[Delivery, Delivery, int]]:
    """Yield two deliveries in a row to the same owner and an offset of the log between them, for each such offset."""
    stored: defaultdict[int, list[int]] = defaultdict(list)
    for partition, offset in sorted(accounting.items(evidence)):
        stored[partition].append(offset)
    for before, after in _steps(evidence):
        for offset in _between(stored[after.partition], before.offset, after.offset):
            yield before, after, offset


def _steps(evidence: Evidence) -> Iterator[tuple[Delivery, Delivery]]:
    for each in ownerships(evidence):
        if is_tried(evidence, each.process):
            for run_ in each.runs:
                yield from pairwise(run_)


def _between(offsets: list[int], low: int, high: int) -> list[int]:
    return offsets[bisect_right(offsets, low) : bisect_left(offsets, high)]


def _sample(each: Delivery) -> Sample:
    return {"member": each.member, "partition": each.partition, "offset": each.offset}


def _pairs(evidence: Evidence) -> int:
    return sum(1 for _ in _steps(evidence))


CHECK = Check(
    name="delivery-order",
    summary="Records that one owner of a partition was given in another order, again, or with a gap.",
    requirements=(Requirement("CSM-FET-02", Level.MUST, arises=_pairs),),
    guarantees=frozenset({Guarantee.AT_LEAST_ONCE, Guarantee.AT_MOST_ONCE}),
    requires=frozenset({"history", "log", "faults"}),
    killed_mutant="drops_last_record_of_poll",
    run=run,
    workloads=frozenset({"consume"}),
)
