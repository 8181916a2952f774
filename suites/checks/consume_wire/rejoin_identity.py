"""# rejoin-identity

## What it does

Looks at the member id with which each member joins after its coordinator has told it something about its id: that it
needs one and gets this one, that it is unknown, or that only the generation is outdated.

## Why it is bad

A member that joins again without the id that it was given leaves a stranger in the group, for which each rebalance
waits until that one's session ends. A member that goes on with an id that its coordinator does not know is refused
again and again, and reads nothing.

## How it is judged per guarantee

- **at-least-once, at-most-once**: after MEMBER_ID_REQUIRED, the next JoinGroup must have the id that was given, and
  after a JoinGroup that was refused with UNKNOWN_MEMBER_ID, another one must not have the same id.
- A difference: to join once with an id that a Heartbeat, SyncGroup or OffsetCommit was refused with, as Java drops it
  at once; and to drop the id after ILLEGAL_GENERATION, although the coordinator still knows it.

Only JoinGroup requests count that the client sent when it had certainly read the answer, and only answers about the id
that the member had. A member that has left in between, or was told something else about its id, may have a new one.

## What it needs

The witness's frames and the members' histories. If the member's process stalled in between, the trial is inconclusive.

## References

CSM-GRP-02 (KIP-394), CSM-GRP-07 (``AbstractCoordinator``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.wire.error_table import BY_NAME
from suites.analysis.consuming.asked import Asked, of_group, unread_of_members
from suites.analysis.consuming.timing import REQUEST, setting_ms
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS
from suites.analysis.way import SLACK_NS

JOIN: Final = "JoinGroup"
GIVEN, UNKNOWN, OUTDATED, REBALANCES = (
    BY_NAME[name].code
    for name in ("MEMBER_ID_REQUIRED", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS")
)
NOT_USED = Anomaly("given-id-not-used", "{count:JoinGroup} without the member id that had been given before")
AGAIN = Anomaly("refused-id-again", "{count:JoinGroup} with a member id that was refused to JoinGroup before")
KEPT = Anomaly(
    "unknown-id-kept", "{count:JoinGroup} with a member id that was refused before as unknown", Level.SHOULD
)
DROPPED = Anomaly(
    "id-dropped",
    "{count:JoinGroup} without the member id, of which only the generation was outdated",
    Level.SHOULD,
)


class Rejoin(NamedTuple):
    """The answer that told a member something about its id, and the JoinGroup that followed."""

    said: Asked
    joined: Asked

    @property
    def said_id(self) -> str:
        """The id that the answer is about."""
        given = self.said.told.member_id if self.said.code == GIVEN else self.said.member.member_id
        return given or ""

    @property
    def joined_id(self) -> str:
        """The id with which the member joined."""
        return self.joined.member.member_id or ""


def rejoins(evidence: Evidence) -> Iterator[Rejoin]:
    """Yield each JoinGroup with the last answer before it that says something about the member's id."""
    for requests in of_group(evidence).values():
        for at, joined in enumerate(requests):
            if joined.api == JOIN and joined.member.member_id is not None:
                said = _last_word(requests[:at], joined)
                if said is not None and is_read(evidence, said, joined):
                    yield Rejoin(said, joined)


def _last_word(before: list[Asked], joined: Asked) -> Asked | None:
    """Return the last answer about the id since the member last joined, or None if there may have been another."""
    found = None
    for each in reversed(before):
        is_answered = each.answer is not None and each.answer.t_ns < joined.request.arrived_ns
        if each.api == "LeaveGroup":
            return found
        if not is_answered:
            if each.api in (JOIN, "SyncGroup"):
                return found
            continue
        if found is None and each.code in (GIVEN, UNKNOWN, OUTDATED):
            found = each
        elif each.code == REBALANCES:
            return None if found is not None and found.api != JOIN else found
        if each.api == JOIN:
            return found
    return found


@grants("joined-before-it-was-told")
def is_read(evidence: Evidence, said: Asked, joined: Asked) -> bool:
    """Return whether the client had read an answer when it joined.

    A client that joins without having given up the request that was answered on the same connection has read it.
    """
    if said.reached_ns is None or said.reached_ns >= joined.sent_ns:
        return False
    if said.received_ns is not None and said.received_ns < joined.sent_ns:
        return True
    is_next = said.request.conn == joined.request.conn
    timeout_ns = setting_ms(evidence, REQUEST) * NS_PER_MS
    return is_next and said.reached_ns - said.sent_ns < timeout_ns - SLACK_NS


def _broken(rejoin: Rejoin) -> Anomaly | None:
    said, same = rejoin.said, rejoin.said_id == rejoin.joined_id
    if not rejoin.said_id:
        return None
    if said.code == GIVEN:
        return None if same else NOT_USED
    if said.code == UNKNOWN:
        return None if not same else AGAIN if said.api == JOIN else KEPT
    return DROPPED if not rejoin.joined_id else None


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind. Inconclusive if something stalled in between."""
    broken: dict[Anomaly, list[Rejoin]] = {}
    for each in rejoins(evidence):
        if (anomaly := _broken(each)) is not None:
            broken.setdefault(anomaly, []).append(each)
    found = []
    for anomaly, cases in broken.items():
        id = "CSM-GRP-02" if anomaly is NOT_USED else "CSM-GRP-07"
        finding = anomaly.found(len(cases), map(_sample, cases), requirement=id)
        doubt_if_unreadable(finding, unread_of_members(evidence))
        for each in cases:
            doubt_if_stalled(evidence, finding, each.said.request.arrived_ns, each.joined.request.arrived_ns)
        found.append(finding)
    return found


def _sample(rejoin: Rejoin) -> Sample:
    return {
        "member": rejoin.joined.process,
        "said_in": rejoin.said.api,
        "said_ns": rejoin.said.answer.t_ns if rejoin.said.answer else None,
        "said_id": rejoin.said_id,
        "joined_id": rejoin.joined_id,
        "joined_ns": rejoin.joined.request.arrived_ns,
    }


def _given(evidence: Evidence) -> int:
    return sum(each.said.code == GIVEN for each in rejoins(evidence))


def _refused(evidence: Evidence) -> int:
    return sum(each.said.code != GIVEN for each in rejoins(evidence))


CHECK = Check(
    name="rejoin-identity",
    summary="Members that join with another member id than their coordinator demands.",
    requirements=(
        Requirement("CSM-GRP-02", Level.MUST, arises=_given),
        Requirement("CSM-GRP-07", Level.MUST, arises=_refused),
    ),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="joins_without_given_id",
    run=run,
    workloads=frozenset({"consume"}),
)
