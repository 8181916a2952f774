"""# foreign-record

## What it does

Compares each record that a member was given with the record of the log at its partition and offset.

## Why it is bad

The application works on something that no producer wrote, or on another record than the one that its offset names.
What it commits then stands for a record that it never saw.

## How it is judged per guarantee

- **at-least-once, at-most-once**: forbidden. One is enough.

Not judged: offsets before the log's start, which a fault may have trimmed, topics that were created again, and batches
that a fault has damaged, if the client cannot compare checksums (see ``damaged-batch``). A long value is compared by
the identity that it begins with.

## What it needs

The members' histories, and every partition read to its end. Markers of transactions are not records.

## References

CSM-FET-02, CSM-FET-05 (``CompletedFetch#nextFetchedRecord``).
"""

from __future__ import annotations

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.workloads.consume import accounting
from harness.workloads.consume.accounting import Delivery
from suites.analysis.consuming.damages import compares, damages
from suites.analysis.consuming.tried import is_tried
from suites.analysis.excuses import grants
from suites.analysis.promises import BY_COMMITS
from suites.analysis.recreated import recreations

#: The start of a partition that was trimmed to its end.
NOTHING_LEFT = 2**63

FOREIGN = Anomaly("foreign-record", "{count:record} delivered that the log does not have at that place")


@grants("log-was-trimmed")
def foreign(evidence: Evidence) -> list[Delivery]:
    """Return the deliveries that are not in the log, as far as the log still has their offsets."""
    if recreations(evidence):
        return []
    trims = any(row.spec.kind == "log_trim" and row.effective_ns is not None for row in evidence.faults)
    starts: dict[int, int] = {}
    for row in evidence.log if trims else ():
        starts[row.partition] = min(starts.get(row.partition, row.offset), row.offset)
    empty = NOTHING_LEFT if trims else 0
    return [
        got
        for got in accounting.foreign(evidence)
        if got.offset >= starts.get(got.partition, empty)
        and is_tried(evidence, got.member)
        and not cannot_be_noticed(evidence, got)
    ]


@grants("checksums-not-compared")
def cannot_be_noticed(evidence: Evidence, got: Delivery) -> bool:
    """Return whether a record is of a batch that was damaged on its way to a client that does not compare checksums."""
    return not compares(evidence) and any(
        got.member == damage.process
        and damage.has(got.partition, got.offset)
        and damage.passed_ns <= got.polled_ns
        for damage in damages(evidence)
    )


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the records."""
    found: list[Sample] = [
        {"member": got.member, "partition": got.partition, "offset": got.offset} for got in foreign(evidence)
    ]
    return [FOREIGN.found(len(found), found)] if found else []


def _arises(evidence: Evidence) -> int:
    return sum(is_tried(evidence, got.member) for got in accounting.deliveries(evidence))


CHECK = Check(
    name="foreign-record",
    summary="Records that are not what the log has at their place.",
    requirements=(Requirement("CSM-FET-02", Level.MUST, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"history", "log"}),
    killed_mutant="reuses_value_buffer",
    run=run,
    workloads=frozenset({"consume"}),
)
