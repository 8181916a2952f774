"""# reconciled-early

## What it does

Compares what members of KIP-848 acknowledge with what their listeners have been told: partitions that a member gives
up before its listener is told so (``given-up-before-callback``) or before their records are committed
(``given-up-before-commit``), and partitions that it takes over before (``taken-over-before-callback``).

## Why it is bad

When a member acknowledges that it gives a partition up, the coordinator gives it to another one at once. Then two
applications work on it, and the new owner begins at an offset that the former one is still to commit.

## How it is judged per guarantee

- **at-least-once, at-most-once**: to give up before the callback is forbidden. To take over before it is a difference,
  and so is to leave out the automatic commit.

A heartbeat acknowledges a change if it names other partitions than the one before. It is early if it had arrived
before the listener was called, although that was the next thing that the listener was told about the partition. A
join, and what follows a loss, is not judged here (see ``fenced-member``). The commit is judged with
``enable.auto.commit``, for records that the application had processed before the revocation. It is enough that it
was sent.

## What it needs

The witness's frames, and the members' histories with the events of their listeners. If something stalled meanwhile,
the trial is inconclusive.

## References

CSM-NGP-04 (KIP-848, ``AbstractMembershipManager#maybeReconcile``).
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.anomaly import Anomaly, Sample
from harness.model.consumer_contract import PartitionsRevoked
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.asked import of_group, unread_of_members
from suites.analysis.consuming.committing import is_automatic
from suites.analysis.consuming.reconciliations import Change, changes, processed
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS

GIVEN_UP = Anomaly(
    "given-up-before-callback",
    "{count:partition} given up before the listener was told that they are revoked",
)
NOT_COMMITTED = Anomaly(
    "given-up-before-commit",
    "{count:partition} given up without a commit of all that was processed",
    Level.SHOULD,
)
TAKEN_OVER = Anomaly(
    "taken-over-before-callback",
    "{count:partition} taken over before the listener was told that they are assigned",
    Level.SHOULD,
)


def uncommitted(evidence: Evidence) -> Iterator[Change]:
    """Yield what was given up although a record was processed, and no commit of it had been sent."""
    if not is_automatic(evidence):
        return
    for change in changes(evidence):
        if not change.is_taken_over and isinstance(change.before, PartitionsRevoked):
            end = processed(evidence, change)
            if end and _committed(evidence, change) < end:
                yield change


def _committed(evidence: Evidence, change: Change) -> int:
    """Return the largest offset that the member had asked to commit by then."""
    return max(
        (
            part.offset or 0
            for asked in of_group(evidence, "OffsetCommit")[change.beat.now.process]
            if asked.request.arrived_ns <= change.beat.now.request.arrived_ns
            for part in asked.request.offsets
            if part.topic == evidence.record.topic and part.partition == change.partition
        ),
        default=0,
    )


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind. Inconclusive if a stall may have delayed what the listener told."""
    cases: dict[Anomaly, list[Change]] = {}
    for change in changes(evidence):
        if change.is_early:
            cases.setdefault(TAKEN_OVER if change.is_taken_over else GIVEN_UP, []).append(change)
    if without := list(uncommitted(evidence)):
        cases[NOT_COMMITTED] = without
    found = []
    for anomaly, early in cases.items():
        finding = anomaly.found(len(early), map(_sample, early))
        doubt_if_unreadable(finding, unread_of_members(evidence))
        for change in early:
            if change.is_early and change.after is not None:
                doubt_if_stalled(evidence, finding, change.beat.now.request.arrived_ns, change.after.mono_ns)
        found.append(finding)
    return found


def _sample(change: Change) -> Sample:
    return {
        "member": change.beat.now.process,
        "partition": change.partition,
        "acknowledged_ns": change.beat.now.request.arrived_ns,
        "told_ns": change.after.mono_ns if change.after is not None else None,
    }


def _arises(evidence: Evidence) -> int:
    return sum(1 for _ in changes(evidence))


CHECK = Check(
    name="reconciled-early",
    summary="Members of KIP-848 that acknowledge a change before the callbacks and commits that it needs.",
    requirements=(Requirement("CSM-NGP-04", Level.MUST, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="acknowledges_before_its_callbacks",
    run=run,
    workloads=frozenset({"consume"}),
)
