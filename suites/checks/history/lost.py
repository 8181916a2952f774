"""# lost

## What it does

Looks for records that the client reported as written, with acks=all, and that are nowhere in the log.

## Why it is bad

The application was told that the record is safe and has forgotten it. Nobody will send it again; this is the one
failure that no consumer can notice and no retry can mend.

## How it is judged per guarantee

- **at-least-once, idempotent, transactional**: forbidden. One is enough.
- **at-most-once**: not judged; such a client does not promise that what it sent arrives.

A record without a result, or with an error, may be missing under every guarantee. A record that was damaged on the
way counts as lost as well: what was acknowledged is not there.

## What it needs

The client's history, and every partition read back to its end on a listener that no fault touches, after healing.
Settings: acks=all; with less the broker itself may lose what it has acknowledged.

## References

E2E-DEL-01 (KIP-679), E2E-DEL-02 (KIP-98). Jepsen's ``lost-write``; ``acked missing`` in Kafka's own system tests.
"""

from __future__ import annotations

from harness.model.anomaly import Anomaly
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.workloads.produce import accounting
from suites.analysis.findings import of_send, require_acks_all
from suites.analysis.promises import DURABLE, EXACTLY_ONCE

LOST = Anomaly("lost", "{count:acknowledged record} not in the log")


def find(evidence: Evidence) -> list[Finding]:
    """At most one finding, with one count a lost record. Unsupported unless acks=all."""
    require_acks_all(evidence)
    lost = accounting.lost(evidence)
    if not lost:
        return []
    return [LOST.found(len(lost), map(of_send, lost))]


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
    channels=frozenset({"history", "log"}),
    mutant="acknowledges_before_response",
    find=find,
)
