"""# assignment-not-followed

## What it does

Looks for members that do not play their part in an assignment. The leader of a generation must send the assignment of
all members with SyncGroup (``leader-assigns-nothing``), each partition once (``assigned-to-two``), and no other member
may send one (``follower-assigns``). Each member must tell its listener of the partitions that SyncGroup's answer gave
it: of no others (``assigned-not-given``), and of all that it does not have yet (``given-not-assigned``).

## Why it is bad

The coordinator's answer is the only thing that all members agree on. A member that goes by anything else, such as what
it has computed itself, reads what another one reads too, or leaves partitions unread.

## How it is judged per guarantee

- **at-least-once, at-most-once**: forbidden, except that a follower which sends an assignment is only different: the
  coordinator ignores it.

A listener's call is compared with the answers that had passed by then, from that of the last call on: some clients
report an assignment after the turn in which it came. A static leader may be told to assign nothing (KIP-814).
Members with another client, and groups of KIP-848, are not judged.

## What it needs

The witness's frames and the members' histories.

## References

CSM-GRP-04 (``ConsumerCoordinator#onLeaderElected``, ``#onJoinComplete``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.asked import Asked, unread_of_members
from suites.analysis.consuming.generations import Generation, generations
from suites.analysis.consuming.handovers import Given, Told, given, told
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS

NOTHING = Anomaly("leader-assigns-nothing", "{count:SyncGroup} of a leader without an assignment")
TWICE = Anomaly("assigned-to-two", "{count:SyncGroup} that assigns a partition to two members")
FOLLOWER = Anomaly(
    "follower-assigns", "{count:SyncGroup} with an assignment of a member that does not lead", Level.SHOULD
)
OTHER = Anomaly("assigned-not-given", "{count:time} a listener got partitions that SyncGroup had not given")
MISSING = Anomaly(
    "given-not-assigned", "{count:time} a listener did not get partitions that SyncGroup had given"
)


class Applied(NamedTuple):
    """A call of a member's listener with new partitions, and the assignments that it may be about.

    One that the call is the first to be about has not been told before.
    """

    process: str
    told: Told
    given: tuple[Given, ...]
    is_first: bool

    def broken(self) -> Anomaly | None:
        """Return what is wrong with the call, or None if it fits one of the assignments."""
        fitting = [each for each in self.given if self.told.partitions <= each.partitions]
        if not fitting:
            return OTHER if self.told.partitions else None
        if self.is_first and not any(self._is_all(each) for each in fitting):
            return MISSING
        return None

    def _is_all(self, one: Given) -> bool:
        return one.partitions <= self.told.owned | self.told.partitions


@grants("told-of-an-earlier-assignment")
def applied(evidence: Evidence) -> Iterator[Applied]:
    """Yield the calls of listeners of members that ask for their assignment with SyncGroup."""
    for process, answers in given(evidence).items():
        if not any(generation.synced for generation in generations(evidence)[process]):
            continue
        known = 0
        for call in told(evidence)[process]:
            if call.assigns:
                until = sum(each.at_ns <= call.at_ns for each in answers)
                # What was told last may be told in parts.
                yield Applied(process, call, tuple(answers[max(0, known - 1) : until]), until > known)
                known = until


def syncs(evidence: Evidence) -> Iterator[tuple[Generation, Asked]]:
    """Yield each SyncGroup with its generation, if it is known who leads."""
    for of in generations(evidence).values():
        for generation in of:
            if generation.joined.told.leader:
                for sync in generation.synced:
                    yield generation, sync


def _misled(generation: Generation, sync: Asked) -> Iterator[Anomaly]:
    """Yield what is wrong with a SyncGroup."""
    assigns = bool(sync.member.said)
    if not generation.leads:
        if assigns:
            yield FOLLOWER
    elif not assigns and not _may_skip(generation):
        yield NOTHING
    elif any(
        count > 1 for count in Counter((at.topic, at.partition) for at in sync.request.offsets).values()
    ):
        yield TWICE


@grants("static-leader-may-skip")
def _may_skip(generation: Generation) -> bool:
    """Return whether the coordinator may have told the leader to assign nothing."""
    return bool(generation.joined.member.instance_id)


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind. Inconclusive if the witness could not read all frames."""
    broken: dict[Anomaly, list[Sample]] = {}
    for generation, sync in syncs(evidence):
        for anomaly in _misled(generation, sync):
            sample: Sample = {
                "member": sync.process,
                "generation": generation.number,
                "leader": generation.joined.told.leader,
                "at_ns": sync.request.arrived_ns,
            }
            broken.setdefault(anomaly, []).append(sample)
    for each in applied(evidence):
        if (found := each.broken()) is not None:
            broken.setdefault(found, []).append(_sample(each))
    findings = []
    for anomaly, samples in broken.items():
        finding = anomaly.found(len(samples), samples)
        doubt_if_unreadable(finding, unread_of_members(evidence))
        findings.append(finding)
    return findings


def _sample(each: Applied) -> Sample:
    last = each.given[-1].partitions if each.given else None
    return {
        "member": each.process,
        "given": None if last is None else _named(last),
        "had": _named(each.told.owned),
        "told": _named(each.told.partitions),
        "at_ns": each.told.at_ns,
    }


def _named(partitions: frozenset[int]) -> str:
    return ", ".join(map(str, sorted(partitions)))


def _arises(evidence: Evidence) -> int:
    return sum(bool(each.given) for each in applied(evidence)) + sum(1 for _ in syncs(evidence))


CHECK = Check(
    name="assignment-not-followed",
    summary="Members that do not send or apply the assignment as the protocol says.",
    requirements=(Requirement("CSM-GRP-04", Level.MUST, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="every_member_assigns",
    run=run,
    workloads=frozenset({"consume"}),
)
