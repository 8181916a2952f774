"""# rejoins-after-loss

## What it does

Looks for members of KIP-848 that do not go on after a heartbeat without an answer: the next one joins with epoch 0
(``rejoins-after-loss``), or has another epoch than the lost one (``other-epoch-after-loss``).

## Why it is bad

The coordinator takes a repeated heartbeat with the previous epoch, if its partitions fit: nothing happens. A member
that joins again gives up what it owns first, and the group is given new assignments for a single lost answer. With
another epoch it is fenced.

## How it is judged per guarantee

- **at-least-once, at-most-once**: forbidden, unless the client may have had a reason to join again.

Reasons are, since the last heartbeat that was accepted: an error of any answer of the coordinator (except that it
loads, moves or is another broker), the time of a session, a turn as long as ``max.poll.interval.ms``, a stop of the
process, and calls of the application that subscribe, unsubscribe or close. A member that has left may join again.

## What it needs

The witness's frames, and the members' histories. If something stalled meanwhile, the trial is inconclusive.

## References

CSM-NGP-06 (KIP-848, ``GroupMetadataManager#throwIfConsumerGroupMemberEpochIsInvalid``,
``AbstractHeartbeatRequestManager#onFailure``).
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.asked import unread_of_members
from suites.analysis.consuming.beats import Beat, all_beats, pipelines
from suites.analysis.consuming.fences import may_join_anew
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS

ANEW = Anomaly(
    "rejoins-after-loss", "{count:heartbeat} with epoch 0, although nothing had ended the membership"
)
EPOCH = Anomaly(
    "other-epoch-after-loss", "{count:heartbeat} with another epoch than the one before, which had no answer"
)


def repeated(evidence: Evidence) -> Iterator[Beat]:
    """Yield each heartbeat that its client sent after one within a membership that was never answered."""
    for process, beats in all_beats(evidence).items():
        if process in pipelines(evidence):
            continue
        for beat in beats:
            before = beat.before
            if (
                before is not None
                and before.answer is None
                and (before.member.epoch or 0) > 0
                and before.request.arrived_ns < beat.now.sent_ns
                and not beat.leaves
            ):
                yield beat


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind. Inconclusive if a stall may have ended the membership."""
    broken: dict[Anomaly, list[Beat]] = {}
    for beat in repeated(evidence):
        before = beat.before
        if beat.joins:
            if not may_join_anew(evidence, beat):
                broken.setdefault(ANEW, []).append(beat)
        elif before is not None and beat.now.member.epoch != before.member.epoch:
            broken.setdefault(EPOCH, []).append(beat)
    found = []
    for anomaly, cases in broken.items():
        finding = anomaly.found(len(cases), map(_sample, cases))
        doubt_if_unreadable(finding, unread_of_members(evidence))
        for beat in cases:
            begin_ns = beat.before.request.arrived_ns if beat.before is not None else 0
            doubt_if_stalled(evidence, finding, begin_ns, beat.now.request.arrived_ns)
        found.append(finding)
    return found


def _sample(beat: Beat) -> Sample:
    return {
        "member": beat.now.process,
        "epoch": beat.now.member.epoch,
        "before_epoch": beat.before.member.epoch if beat.before is not None else None,
        "at_ns": beat.now.request.arrived_ns,
    }


def _arises(evidence: Evidence) -> int:
    return sum(1 for _ in repeated(evidence))


CHECK = Check(
    name="rejoins-after-loss",
    summary="Members of KIP-848 that join again, because a heartbeat had no answer.",
    requirements=(Requirement("CSM-NGP-06", Level.MUST, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="begins_anew_after_a_lost_heartbeat",
    run=run,
    workloads=frozenset({"consume"}),
)
