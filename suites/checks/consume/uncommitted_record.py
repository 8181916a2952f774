"""# uncommitted-record

## What it does

Looks for records that a member with ``isolation.level=read_committed`` was given although their transaction was
aborted, or before its writer had asked to commit it.

## Why it is bad

The producer has taken these records back, or may still do so. The application acts on something that never happened:
it books a payment that was cancelled, or counts a record twice that is written again.

## How it is judged per guarantee

- **at-least-once, at-most-once**: forbidden. One is enough.

Not judged: members without read_committed, and clients that cannot be told an isolation level.

## What it needs

The members' histories, and what the harness wrote: it ends each of its transactions, and notes the moment at which it
asked for that. A poll that had returned before cannot have returned committed records.

## References

CSM-FET-05 (``CompletedFetch#isBatchAborted``, KIP-98). Jepsen's ``aborted-read``. librdkafka issue 3020 and
platformatic/kafka issue 391 are known reports.
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
from harness.workloads.consume.fates import fates, reads_committed
from suites.analysis.consuming.tried import is_tried
from suites.analysis.promises import BY_COMMITS

ABORTED = Anomaly("aborted-record", "{count:record} of aborted transactions delivered with read_committed")
EARLY = Anomaly(
    "uncommitted-record",
    "{count:record} delivered with read_committed before the commit of their transaction was asked for",
)


def _transactional(evidence: Evidence) -> Iterator[Delivery]:
    """Yield the deliveries of records of transactions to members that read only what is committed."""
    if reads_committed(evidence):
        known = fates(evidence)
        for got in accounting.deliveries(evidence):
            if (got.partition, got.offset) in known and is_tried(evidence, got.member):
                yield got


def run(evidence: Evidence) -> list[Finding]:
    """Return at most two findings: of aborted records, and of records that were not committed yet."""
    known = fates(evidence)
    aborted: list[Sample] = []
    early: list[Sample] = []
    for got in _transactional(evidence):
        end = known[got.partition, got.offset]
        sample: Sample = {"member": got.member, "partition": got.partition, "offset": got.offset}
        if not end.committed:
            aborted.append(sample)
        elif got.polled_ns < end.invoke_ns:
            early.append(sample)
    found = [ABORTED.found(len(aborted), aborted)] if aborted else []
    return [*found, EARLY.found(len(early), early)] if early else found


def _arises(evidence: Evidence) -> int:
    """Count the transactional records that members were given: a reader that passes all of them is not judged."""
    return sum(1 for _ in _transactional(evidence))


CHECK = Check(
    name="uncommitted-record",
    summary="Records of aborted or open transactions, delivered with read_committed.",
    requirements=(Requirement("CSM-FET-05", Level.MUST, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"history"}),
    killed_mutant="reads_aborted_records",
    run=run,
    workloads=frozenset({"consume"}),
)
