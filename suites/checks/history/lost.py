"""# lost

## What it does

Looks for records that the client reported as written, with acks=all, and that are nowhere in the log.

## Why it is bad

The application was told that the record is safe and has discarded it. It will not send the record again. No
consumer can notice this failure, and no retry can repair it.

## How it is judged per guarantee

- **at-least-once, idempotent, transactional**: forbidden. One is enough.
- **at-most-once**: not judged; such a client does not promise that records arrive.

A record without a result, or with an error, may be missing under every guarantee. A record that was damaged
in transit counts as lost too, because the acknowledged record is not in the log.

If the last answer for the record's partition before its acknowledgement was an error, the finding names the error:
the client reported an error as a success.

## What it needs

The client's history, and every partition read to its end after healing, on a listener that no fault touches.
Setting: acks=all; with less, the broker itself may lose what it has acknowledged.

## References

E2E-DEL-01 (KIP-679), E2E-DEL-02 (KIP-98). Jepsen's ``lost-write``; ``acked missing`` in Kafka's own system tests.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.model.anomaly import Anomaly
from harness.model.evidence import Evidence, Operation
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.workloads.produce import accounting
from suites.analysis.answered_errors import error_before_ack
from suites.analysis.findings import of_send, require_acks_all
from suites.analysis.promises import DURABLE, EXACTLY_ONCE

LOST = Anomaly("lost", "{count:acknowledged record} not in the log{told}")


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts lost records. Unsupported unless acks=all."""
    require_acks_all(evidence)
    lost = accounting.lost(evidence)
    if not lost:
        return []
    return [LOST.found(len(lost), map(of_send, lost), told=_told(evidence, lost))]


def _told(evidence: Evidence, lost: Sequence[Operation]) -> str:
    """Return the errors that the broker had answered before the client reported records as written."""
    refused = {send.n: error for send in lost if (error := error_before_ack(evidence, send))}
    if not refused:
        return ""
    some_of = "" if len(refused) == len(lost) else f"{len(refused)} of them "
    return f": {some_of}acknowledged although the broker answered {', '.join(sorted(set(refused.values())))}"


def _acknowledged(evidence: Evidence) -> int:
    return len(evidence.acknowledged)


CHECK = Check(
    name="lost",
    summary="Records that the client reported as written and that are not in the log.",
    requirements=(
        Requirement("E2E-DEL-01", Level.MUST, arises=_acknowledged),
        Requirement("E2E-DEL-02", Level.MUST, EXACTLY_ONCE, _acknowledged),
    ),
    guarantees=DURABLE,
    requires=frozenset({"history", "log"}),
    killed_mutant="acknowledges_before_response",
    run=run,
)
