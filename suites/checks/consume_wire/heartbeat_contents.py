"""# heartbeat-contents

## What it does

Looks for heartbeats of KIP-848 (ConsumerGroupHeartbeat) that say too little, too much, or something else than the
coordinator was to be told: one that joins, or follows a failed one, without all fields (``joins-incompletely``,
``says-too-little``); one that says again what has not changed (``says-too-much``); and one with another epoch or
member id than the coordinator knows (``other-epoch``, ``other-member-id``, ``member-id-not-kept``).

## Why it is bad

The coordinator keeps what a member has said, and takes a field that is left out as unchanged. After a failure the
member cannot know what has arrived. If it leaves a field out then, the group may go on with an old subscription, or
wait for partitions that were given up long ago. With another epoch or id the member is fenced, and its partitions move
for nothing.

## How it is judged per guarantee

- **at-least-once, at-most-once**: forbidden, except that a client which says too much, or joins again under another
  id, is only different from Java's.

A heartbeat has failed if it was answered with an error, or not at all. One that left the client before it had
certainly read that the last one was accepted is not judged, nor one that may have been sent while the last one was
outstanding (see ``heartbeat-pace``). A heartbeat says too much if it says again everything, and all of it is known.
One that brings news, or acknowledges an assignment, may say the rest too. That is not judged on a new connection, or
while a fault acted on the network or the brokers: the client may have given up a heartbeat that never arrived.

## What it needs

The witness's frames, and the members' histories.

## References

CSM-NGP-01, CSM-NGP-03 (KIP-848, KIP-1082, ``ConsumerHeartbeatRequestManager.HeartbeatState``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from harness.judging.availability import Span
from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.asked import Asked, unread_of_members
from suites.analysis.consuming.beats import OWNED, SUBSCRIPTIONS, Beat, all_beats, may_overlap, pipelines
from suites.analysis.consuming.unaware import during_cut
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS

JOINS = Anomaly("joins-incompletely", "{count:heartbeat} of joining members without all fields")
LITTLE = Anomaly(
    "says-too-little", "{count:heartbeat} without all fields, although the one before had failed"
)
MUCH = Anomaly(
    "says-too-much",
    "{count:heartbeat} with all that the ones before had said, although they were accepted",
    Level.SHOULD,
)
EPOCH = Anomaly("other-epoch", "{count:heartbeat} with another epoch than the coordinator gave the member")
IDENTITY = Anomaly("other-member-id", "{count:heartbeat} with another member id than those before")
NEW_IDENTITY = Anomaly(
    "member-id-not-kept",
    "{count:heartbeat} that joins again with another member id than before",
    Level.SHOULD,
)
#: From this version on a client chooses its id, and keeps it for its lifetime (KIP-1082).
OWN_ID_FROM_VERSION: Final = 1


def is_full(beat: Beat) -> bool:
    """Return whether a heartbeat says all that a coordinator has to know of a member."""
    said = frozenset(beat.now.member.said)
    return beat.says_timeout and bool(said & SUBSCRIPTIONS) and OWNED in said


def repeats(beat: Beat) -> bool:
    """Return whether it says what a member says once, unless its application subscribes again, and nothing new."""
    said = frozenset(beat.now.member.said)
    has_news = OWNED in said and frozenset(beat.now.request.offsets) != beat.known
    acknowledges = beat.before is not None and bool(beat.before.told.said)
    return (beat.says_timeout or bool(SUBSCRIPTIONS & said)) and not has_news and not acknowledges


def beats(evidence: Evidence) -> Iterator[Beat]:
    """Yield each heartbeat that does not leave, with the one before it of the same process."""
    for each in all_beats(evidence).values():
        yield from (beat for beat in each if not beat.leaves)


@grants("answer-may-be-unread")
def is_accepted(beat: Beat) -> bool:
    """Return whether the client had certainly read that the heartbeat before was accepted."""
    before = beat.before
    return (
        before is not None
        and before.code == 0
        and before.received_ns is not None
        and before.received_ns < beat.now.sent_ns
    )


@grants("several-heartbeats-outstanding")
def has_failed(evidence: Evidence, beat: Beat) -> bool:
    """Return whether the heartbeat before had failed, for the client too.

    A client that has one outstanding at a time has read the error that has reached it, or has given the heartbeat up.
    """
    before = beat.before
    if before is None:
        return False
    if before.answer is None:
        return not may_overlap(evidence, beat)
    is_refused = before.code is not None and before.code > 0
    read_ns = before.received_ns if beat.now.process in pipelines(evidence) else before.reached_ns
    return is_refused and read_ns is not None and read_ns < beat.now.sent_ns


@grants("heartbeat-may-not-have-arrived")
def is_next(evidence: Evidence, beat: Beat) -> bool:
    """Return whether the client certainly sent no other heartbeat in between."""
    before = beat.before
    return (
        before is not None
        and before.request.conn == beat.now.request.conn
        and not during_cut(evidence, Span(before.request.arrived_ns, beat.now.request.arrived_ns))
    )


def _broken(evidence: Evidence, beat: Beat) -> Iterator[Anomaly]:
    now, before = beat.now, beat.before
    if beat.joins:
        if not is_full(beat):
            yield JOINS
    elif has_failed(evidence, beat):
        if not is_full(beat):
            yield LITTLE
    elif is_accepted(beat) and before is not None:
        if repeats(beat) and is_next(evidence, beat):
            yield MUCH
        if (before.told.epoch or 0) > 0 and now.member.epoch != before.told.epoch:
            yield EPOCH
    if before is not None and _is_other(now, before):
        if beat.joins:
            yield NEW_IDENTITY
        elif is_accepted(beat):
            yield IDENTITY


def _is_other(now: Asked, before: Asked) -> bool:
    """Return whether two heartbeats name different members, although the client chooses the id."""
    version = now.request.api_version
    is_own = version is not None and version >= OWN_ID_FROM_VERSION
    return (
        is_own and before.request.api_version == version and now.member.member_id != before.member.member_id
    )


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind. Inconclusive if a stall may have kept an answer from the client."""
    broken: dict[Anomaly, list[Beat]] = {}
    for beat in beats(evidence):
        for anomaly in _broken(evidence, beat):
            broken.setdefault(anomaly, []).append(beat)
    found = []
    for anomaly, cases in broken.items():
        id = "CSM-NGP-01" if anomaly in (EPOCH, IDENTITY, NEW_IDENTITY) else "CSM-NGP-03"
        finding = anomaly.found(len(cases), map(_sample, cases), requirement=id)
        doubt_if_unreadable(finding, unread_of_members(evidence))
        for beat in cases:
            if beat.before is not None and beat.before.answer is not None:
                doubt_if_stalled(
                    evidence, finding, beat.before.request.arrived_ns, beat.now.request.arrived_ns
                )
        found.append(finding)
    return found


def _sample(beat: Beat) -> Sample:
    member, before = beat.now.member, beat.before
    return {
        "member": beat.now.process,
        "epoch": member.epoch,
        "said": ", ".join(member.said),
        "member_id": member.member_id,
        "at_ns": beat.now.request.arrived_ns,
        "before_code": before.code if before is not None else None,
        "before_epoch": before.told.epoch if before is not None else None,
    }


def _accepted(evidence: Evidence) -> int:
    return sum(is_accepted(beat) and not beat.joins for beat in beats(evidence))


def _all_fields(evidence: Evidence) -> int:
    return sum(beat.joins or has_failed(evidence, beat) for beat in beats(evidence))


CHECK = Check(
    name="heartbeat-contents",
    summary="Heartbeats of KIP-848 that say too little, too much, or something else.",
    requirements=(
        Requirement("CSM-NGP-01", Level.MUST, arises=_accepted),
        Requirement("CSM-NGP-03", Level.MUST, arises=_all_fields),
    ),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="leaves_fields_out_after_a_failure",
    run=run,
    workloads=frozenset({"consume"}),
)
