"""# damaged-batch

## What it does

Follows each record batch that reached a process with a wrong checksum: whether its records were delivered, and whether
the process went past them.

## Why it is bad

Checksums are what tells damaged data from what a producer wrote. A client that does not compare them gives the
application whatever arrived. One that drops the batch and reads on has lost records that the log still has.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a difference, each time: to deliver a record of the batch, changed or not
  (``damaged-batch-delivered``), and to go past the batch, with an error (``damaged-batch-left``) or without one
  (``damaged-batch-dropped``). Java raises an error and stays there. A client that fetches the batch again is right too.

What a client that compares checksums delivers changed, or passes over without an error, is also judged as any other
such record (``foreign-record``, ``skipped``, ``delivery-order``). A record with the log's content counts as delivered
from the batch only if no other answer can have brought it. An answer with another damaged batch can.

## What it needs

The witness's frames, the members' histories, and every partition read to its end.

## References

CSM-FET-09 (``CompletedFetch#maybeEnsureValid``, ``check.crcs``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence, view
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.workloads.consume import accounting
from harness.workloads.consume.accounting import Delivery
from suites.analysis.consuming.asked import Asked, of_group, unread_of_members
from suites.analysis.consuming.damages import FETCH, Damage, damages, is_told
from suites.analysis.consuming.passed import is_dropped
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS
from suites.checks.consume.delivery_order import left_out

DELIVERED = Anomaly(
    "damaged-batch-delivered", "{count:record} delivered from batches with a wrong checksum", Level.SHOULD
)
DROPPED = Anomaly(
    "damaged-batch-dropped",
    "{count:record} of batches with a wrong checksum passed over without an error",
    Level.SHOULD,
)
LEFT = Anomaly(
    "damaged-batch-left",
    "{count:record} of batches with a wrong checksum passed over after an error",
    Level.SHOULD,
)


class Case(NamedTuple):
    """A record of a damaged batch, and what shows that it was delivered or passed over."""

    damage: Damage
    offset: int
    shown_by: Delivery


def delivered(evidence: Evidence) -> Iterator[Case]:
    """Yield the records of damaged batches that were delivered from them."""
    changed = {id(got) for got in accounting.foreign(evidence)}
    for damage in damages(evidence):
        for got in accounting.deliveries(evidence):
            is_of = got.member == damage.process and damage.has(got.partition, got.offset)
            if not is_of or got.polled_ns < damage.passed_ns:
                continue
            if id(got) in changed or not may_be_fetched_again(evidence, damage, got):
                yield Case(damage, got.offset, got)


@grants("fetched-again")
def may_be_fetched_again(evidence: Evidence, damage: Damage, got: Delivery) -> bool:
    """Return whether another answer with data of the partition may have brought a record of a damaged batch.

    Answers count unless they came after the record, or were asked for from an offset before the one from which the
    damaged batch was asked for: the client had continued from what they brought.
    """
    position = next(
        (position for each, position in positions(evidence, damage) if each is damage.fetch), None
    )
    if position is None or position > got.offset:
        return True
    return any(
        each.request.arrived_ns >= damage.fetch.request.arrived_ns
        or from_offset is None
        or from_offset >= position
        for each, from_offset in positions(evidence, damage)
        if each is not damage.fetch and _brings(each, got) and _passed_ns(each) < got.polled_ns
    )


def positions(evidence: Evidence, damage: Damage) -> Iterator[tuple[Asked, int | None]]:
    """Yield the Fetch requests of the process with the offset of the partition that it had named last."""
    offset: int | None = None
    for each in of_group(evidence, FETCH)[damage.process]:
        for part in each.request.offsets:
            if (part.topic, part.partition) == (evidence.record.topic, damage.partition):
                offset = None if part.forgotten else part.offset
        yield each, offset


def _brings(each: Asked, got: Delivery) -> bool:
    """Return whether an answer may have brought a record: it has data of the partition, and not that batch damaged."""
    told = each.answer.offsets if each.answer is not None else ()
    return any(
        part.partition == got.partition
        and part.data_bytes
        and (part.damaged is None or not part.damaged[0] <= got.offset < part.damaged[1])
        for part in told
    )


def _passed_ns(each: Asked) -> int:
    return each.answer.t_ns if each.answer is not None else 0


def passed_over(evidence: Evidence) -> Iterator[Case]:
    """Yield the records of damaged batches that their process left out, between two that it was given."""
    for before, after, offset in left_out(evidence):
        if is_dropped(evidence, before, after, offset):
            continue
        for damage in damages(evidence):
            is_of = after.member == damage.process and damage.has(after.partition, offset)
            if is_of and after.polled_ns >= damage.passed_ns:
                yield Case(damage, offset, after)
                break


@view
def cases(evidence: Evidence) -> dict[Anomaly, list[Case]]:
    """Return all cases of each kind."""
    found: dict[Anomaly, list[Case]] = {}
    for case in delivered(evidence):
        found.setdefault(DELIVERED, []).append(case)
    for case in passed_over(evidence):
        kind = LEFT if is_told(evidence, (case.damage.partition, case.offset)) else DROPPED
        found.setdefault(kind, []).append(case)
    return found


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind."""
    found = [kind.found(len(each), map(_sample, each)) for kind, each in cases(evidence).items()]
    for finding in found:
        doubt_if_unreadable(finding, unread_of_members(evidence))
    return found


def _sample(case: Case) -> Sample:
    return {
        "member": case.damage.process,
        "partition": case.damage.partition,
        "offset": case.offset,
        "batch": case.damage.begin,
        "conn": case.damage.fetch.request.conn,
        "at_ns": case.shown_by.polled_ns,
    }


def _arises(evidence: Evidence) -> int:
    return sum(damage.fetch.reached_ns is not None for damage in damages(evidence))


CHECK = Check(
    name="damaged-batch",
    summary="Batches with a wrong checksum that were delivered or passed over.",
    requirements=(Requirement("CSM-FET-09", Level.SHOULD, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history", "log"}),
    killed_mutant="steps_over_damaged_batches",
    run=run,
    workloads=frozenset({"consume"}),
)
