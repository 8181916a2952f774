"""# unexpected-record

## What it does

Looks for records in the log that should not be there: a value that was never sent, a value of another trial,
a number that was never handed to the client, and a record that the client reported as certainly not written.

## Why it is bad

A consumer acts on something that never happened. The last kind is the worst: the application was told that
the write definitely failed and compensated in another way, so the effect has now happened twice.

## How it is judged per guarantee

Forbidden under all guarantees. A record whose result is *unknown* (a timeout, a lost connection) may be in
the log or not: an expired record that turns up later is allowed. The client itself declares, through its
adapter, which errors are definite. This check tests that claim.

## What it needs

The history, and the log of a topic that only this trial writes to. Values contain the run, topic, producer,
number and a checksum.

## References

PRD-ACC-12, PRD-SND-01; PRD-EXP-03 for what is allowed. Jepsen's aborted read (``G1a``) for a producer that
failed.
"""

from __future__ import annotations

from collections import defaultdict

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.payload import decode
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.workloads.produce import accounting
from harness.workloads.produce.accounting import Unexpected, UnexpectedRecord
from suites.analysis.excuses import grants
from suites.analysis.findings import of_copy
from suites.analysis.met import attempts_without_success, told_offsets
from suites.analysis.promises import EVERY

UNEXPECTED = Anomaly("unexpected-record", "{count:log record} {told}")


@grants("result-unknown")
def run(evidence: Evidence) -> list[Finding]:
    """Return one finding per reason. Each counts log records."""
    by_reason: dict[Unexpected, list[UnexpectedRecord]] = defaultdict(list)
    for unexpected_record in accounting.unexpected_records(evidence):
        by_reason[unexpected_record.why].append(unexpected_record)
    return [
        UNEXPECTED.found(len(found), map(_sample, found), told=why.value, why=why.name)
        for why, found in by_reason.items()
    ]


def _sample(unexpected_record: UnexpectedRecord) -> Sample:
    identity = decode(unexpected_record.record.value)
    return of_copy(unexpected_record.record, identity.n if identity else None) | {
        "value": (unexpected_record.record.value or "")[:80]
    }


CHECK = Check(
    name="unexpected-record",
    summary="Records in the log that were never sent, or that the client reported as certainly not written.",
    requirements=(
        Requirement("PRD-ACC-12", Level.MUST, arises=attempts_without_success),
        Requirement("PRD-SND-01", Level.MUST, arises=told_offsets),
    ),
    guarantees=EVERY,
    requires=frozenset({"history", "log"}),
    killed_mutant="reports_success_as_failure",
    run=run,
)
