"""# fenced-member

## What it does

Looks at what members of KIP-848 do after their coordinator has answered a heartbeat with FENCED_MEMBER_EPOCH or
UNKNOWN_MEMBER_ID: a heartbeat with an epoch (``fenced-goes-on``), and partitions of which the listener is not told
that they are lost before it is assigned others (``loss-not-told``), only after the member has joined again
(``joins-before-loss``), or as if it had time to give them up (``loss-told-as-revoked``).

## Why it is bad

A fenced member owns nothing. Until its application knows that, it works on partitions that others have, and commits
what they have not read. With its old epoch it is refused again and again.

## How it is judged per guarantee

- **at-least-once, at-most-once**: to go on with an epoch is forbidden, and so is not to report the loss. To
  report it late, or as a revocation, is a difference.

Only heartbeats count that the client sent when it had certainly read the answer. The partitions are those that the
listener had been assigned by then. Not judged: a client with several heartbeats outstanding; a member that closes
before it is assigned others; and as revocations those of a member that was just joining or changing its partitions.

## What it needs

The witness's frames, and the members' histories. Without events of its listener, only the epochs are judged.

## References

CSM-NGP-05 (KIP-848, ``AbstractMembershipManager#transitionToFenced``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from harness.model.anomaly import Anomaly, Sample
from harness.model.consumer_contract import PartitionsAssigned, PartitionsLost, PartitionsRevoked
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.asked import unread_of_members
from suites.analysis.consuming.beats import OWNED, all_beats
from suites.analysis.consuming.fences import Fence, fences
from suites.analysis.consuming.lives import lives
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS

GOES_ON = Anomaly("fenced-goes-on", "{count:heartbeat} with an epoch, after the member had been fenced")
NOT_TOLD = Anomaly(
    "loss-not-told",
    "{count:partition} of a fenced member of which its listener was not told that they are lost",
)
LATE = Anomaly(
    "joins-before-loss",
    "{count:partition} of a fenced member of which its listener was told only after it had joined again",
    Level.SHOULD,
)
REVOKED = Anomaly(
    "loss-told-as-revoked",
    "{count:partition} of a fenced member of which its listener was told that they are revoked",
    Level.SHOULD,
)
Told = PartitionsLost | PartitionsRevoked


class Loss(NamedTuple):
    """A partition of a fenced member, and what its listener was told before it was assigned others; None if nothing."""

    fence: Fence
    partition: int
    told: Told | None

    @property
    def is_late(self) -> bool:
        """True if the member had certainly joined again by then."""
        return self.told is not None and self.fence.next.now.request.arrived_ns < self.told.mono_ns


def losses(evidence: Evidence) -> Iterator[Loss]:
    """Yield what fenced members owned, if they had partitions again later."""
    for fence in fences(evidence):
        answer, until_ns = fence.told.answer, _until_ns(evidence, fence)
        if answer is None or until_ns is None:
            continue
        owned, told = _owned(evidence, fence.told.process, answer.t_ns, until_ns)
        yield from (Loss(fence, partition, told.get(partition)) for partition in sorted(owned))


@grants("closes-before-it-tells")
def _until_ns(evidence: Evidence, fence: Fence) -> int | None:
    """Return by when the listener of a fenced member must have been told: before it is assigned partitions again.

    If it is not, although the member has joined again and owns some, that is when the process closes or ends. None if
    the member has none before that.
    """
    process, joined_ns = fence.told.process, fence.next.now.request.arrived_ns
    life = lives(evidence)[process]
    until_ns = life.end_ns if life.closing_ns is None else life.closing_ns
    assigned = (
        event.mono_ns
        for event in evidence.history
        if isinstance(event, PartitionsAssigned) and event.producer == process and event.partitions
    )
    owns = any(
        OWNED in beat.now.member.said and beat.now.request.offsets
        for beat in all_beats(evidence)[process]
        if joined_ns < beat.now.request.arrived_ns < until_ns
    )
    again_ns = next((at_ns for at_ns in assigned if joined_ns < at_ns < until_ns), None)
    if not fence.next.joins or (again_ns is None and not owns):
        return None
    return until_ns if again_ns is None else again_ns


def _owned(
    evidence: Evidence, process: str, answered_ns: int, until_ns: int
) -> tuple[set[int], dict[int, Told]]:
    """Return what the listener owned when the answer passed, and how it ended until a moment."""
    owned: set[int] = set()
    told: dict[int, Told] = {}
    for event in evidence.history:
        if event.producer != process or event.mono_ns >= until_ns:
            continue
        if isinstance(event, PartitionsAssigned):
            if event.mono_ns <= answered_ns:
                owned |= {each.partition for each in event.partitions}
        elif isinstance(event, PartitionsLost | PartitionsRevoked):
            for each in event.partitions:
                if event.mono_ns <= answered_ns:
                    owned.discard(each.partition)
                else:
                    told.setdefault(each.partition, event)
    return owned, told


@grants("gives-up-anyway")
def _is_as_revoked(loss: Loss) -> bool:
    """Return whether the member reported a revocation, although it had nothing to give up but what it had lost."""
    reached_ns = loss.fence.told.reached_ns
    return (
        isinstance(loss.told, PartitionsRevoked)
        and loss.fence.is_settled
        and reached_ns is not None
        and reached_ns < loss.told.mono_ns
    )


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind."""
    cases: dict[Anomaly, list[Sample]] = {}
    for fence in fences(evidence):
        if (fence.next.now.member.epoch or 0) > 0:
            cases.setdefault(GOES_ON, []).append(_sample(fence, epoch=fence.next.now.member.epoch))
    for loss in losses(evidence):
        anomalies = {NOT_TOLD: loss.told is None, LATE: loss.is_late, REVOKED: _is_as_revoked(loss)}
        for anomaly in (each for each, is_found in anomalies.items() if is_found):
            cases.setdefault(anomaly, []).append(_sample(loss.fence, partition=loss.partition))
    found = [anomaly.found(len(samples), samples) for anomaly, samples in cases.items()]
    for each in found:
        doubt_if_unreadable(each, unread_of_members(evidence))
    return found


def _sample(fence: Fence, **more: int | None) -> Sample:
    answer = fence.told.answer
    return {
        "member": fence.told.process,
        "code": fence.told.code,
        "told_ns": answer.t_ns if answer is not None else None,
        **more,
    }


def _arises(evidence: Evidence) -> int:
    return len(fences(evidence))


CHECK = Check(
    name="fenced-member",
    summary="Members of KIP-848 that go on after they were fenced, or do not tell of their loss.",
    requirements=(Requirement("CSM-NGP-05", Level.MUST, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="ignores_fencing",
    run=run,
    workloads=frozenset({"consume"}),
)
