"""# committed-early

## What it does

Compares each successful commit of a member that commits after processing with what its process had been given and
had processed by then, and the offsets that the coordinator has after the trial with what any member had processed.

## Why it is bad

A commit says that everything before its offset is done. If the process dies now, the records between what it has
processed and what it has committed are never delivered again.

## How it is judged per guarantee

- **at-least-once**: forbidden for commits of the application. Automatic commits are not judged here, and neither is
  what the coordinator has after them, or for topics that were created again.
- **at-most-once**: not judged; such a member commits before it processes, on purpose.

## What it needs

The members' histories, and the offsets that the coordinator stores after the trial: an application reports which
offset it asked its client to commit, and the client may have sent another one.

## References

CSM-OFC-06 (``OffsetAndMetadata``, ``SubscriptionState#allConsumed``): the committed value is the next offset to read.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.anomaly import Anomaly, Sample
from harness.model.consumer_contract import OffsetsCommitted, Position, RecordsConsumed
from harness.model.evidence import Evidence, view
from harness.model.rows import Finding
from harness.model.verdicts import Guarantee, Level
from harness.plugins.check import Check, Requirement
from harness.workloads.consume.accounting import deliveries
from suites.analysis.consuming.commits import commits, finally_stored
from suites.analysis.consuming.tried import doubt_if_shared, is_tried
from suites.analysis.recreated import recreations

EARLY = Anomaly("committed-early", "{count:commit} of an offset beyond what its member had processed")
STORED = Anomaly(
    "stored-early",
    "{count:partition} whose stored offset is beyond what the members had processed and committed",
)


def run(evidence: Evidence) -> list[Finding]:
    """Return at most two findings, which count partitions of commits, and partitions."""
    early: list[Sample] = [
        {"member": member, "partition": at.partition, "offset": at.offset, "processed": processed}
        for member, at, processed in made(evidence)
        if at.offset > processed
    ]
    stored: list[Sample] = [
        {"partition": partition, "offset": offset, "processed": processed}
        for partition, (offset, processed) in sorted(justified(evidence).items())
        if offset > processed
    ]
    found = [EARLY.found(len(early), early)] if early else []
    if stored:
        found.append(STORED.found(len(stored), stored))
        if not early:
            doubt_if_shared(evidence, found[-1])
    return found


@view
def justified(evidence: Evidence) -> dict[int, tuple[int, int]]:
    """Return partition -> the offset that the coordinator has after the trial, and the largest that it should have.

    Empty if the coordinator was not asked, or if clients committed on their own.
    """
    stored = finally_stored(evidence)
    asked_for = commits(evidence)
    is_automatic = bool(evidence.record.spec.config.get("enable.auto.commit")) or any(
        each.how == "auto" for of in asked_for.values() for each in of
    )
    if stored is None or is_automatic or recreations(evidence):
        return {}
    ends: dict[int, int] = {}
    for got in deliveries(evidence):
        ends[got.partition] = max(ends.get(got.partition, 0), got.offset + 1)
    asked = {partition: max(each.offset for each in of) for partition, of in asked_for.items()}
    return {
        partition: (offset, max(ends.get(partition, 0), asked.get(partition, 0)))
        for partition, offset in stored.items()
    }


def made(evidence: Evidence) -> Iterator[tuple[str, Position, int]]:
    """Yield each commit of the application that succeeded, and the offset up to which it was justified.

    A commit is justified by what its process has processed, or by what the group may have committed before: a commit
    that failed may have been stored.
    """
    processed: dict[tuple[str, int], int] = {}
    committed: dict[int, int] = {}
    for event in sorted(evidence.history, key=lambda each: each.mono_ns):
        member = str(event.producer or "")
        if isinstance(event, RecordsConsumed):
            for part in event.partitions:
                if part.topic == evidence.record.topic and part.offsets:
                    key = member, part.partition
                    processed[key] = max(processed.get(key, 0), part.max_offset + 1)
        elif isinstance(event, OffsetsCommitted):
            for at in event.offsets:
                if at.topic != evidence.record.topic:
                    continue
                justified = max(processed.get((member, at.partition), 0), committed.get(at.partition, 0))
                if event.success and event.how != "auto" and is_tried(evidence, member):
                    yield member, at, justified
                committed[at.partition] = max(committed.get(at.partition, 0), at.offset)


def _arises(evidence: Evidence) -> int:
    return sum(1 for _ in made(evidence))


CHECK = Check(
    name="committed-early",
    summary="Commits of offsets beyond what their member had processed.",
    requirements=(Requirement("CSM-OFC-06", Level.MUST, arises=_arises),),
    guarantees=frozenset({Guarantee.AT_LEAST_ONCE}),
    requires=frozenset({"history"}),
    killed_mutant="commits_one_too_far",
    run=run,
    workloads=frozenset({"consume"}),
)
