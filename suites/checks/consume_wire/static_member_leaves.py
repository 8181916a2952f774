"""# static-member-leaves

## What it does

Looks for static members (``group.instance.id``) that leave their group: a LeaveGroup request that names them, or a
heartbeat of KIP-848 with epoch -1.

## Why it is bad

An application makes its members static so that a restart moves no partition. If the client leaves, the group rebalances
twice for each restart, as with dynamic members, and the state that belongs to the partitions is built again.

## How it is judged per guarantee

- **at-least-once, at-most-once**: forbidden. Under KIP-848 a static member that closes sends epoch -2: it will be back.

## What it needs

The witness's frames. The application never asks for its member to be removed.

## References

CSM-GRP-10 (KIP-345, ``AbstractCoordinator#maybeLeaveGroup``), CSM-NGP-01 (KIP-848).
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.asked import Asked, of_group
from suites.analysis.consuming.lives import lives
from suites.analysis.promises import BY_COMMITS

LEAVES = Anomaly("static-member-leaves", "{count:request} by which a static member leaves its group")
HEARTBEAT = "ConsumerGroupHeartbeat"
LEFT_FOR_GOOD = -1


def leaving(evidence: Evidence) -> Iterator[Asked]:
    """Yield the requests by which static members leave."""
    for requests in of_group(evidence).values():
        if not _is_static(requests):
            continue
        for each in requests:
            is_last = each.api == HEARTBEAT and each.member.epoch == LEFT_FOR_GOOD
            if each.api == "LeaveGroup" or is_last:
                yield each


def _is_static(requests: list[Asked]) -> bool:
    return any(each.member.instance_id for each in requests if each.api in ("JoinGroup", HEARTBEAT))


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the requests."""
    found = list(leaving(evidence))
    samples: list[Sample] = [
        {"member": each.process, "api": each.api, "at_ns": each.request.arrived_ns} for each in found
    ]
    return [LEAVES.found(len(found), samples)] if found else []


def _closes(evidence: Evidence) -> int:
    """Count the static members that closed."""
    return sum(
        _is_static(requests) and lives(evidence)[process].closing_ns is not None
        for process, requests in of_group(evidence).items()
    )


CHECK = Check(
    name="static-member-leaves",
    summary="Static members that leave their group.",
    requirements=(Requirement("CSM-GRP-10", Level.MUST, arises=_closes),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="leaves_though_static",
    run=run,
    workloads=frozenset({"consume"}),
)
