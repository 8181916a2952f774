"""# stays-after-close

## What it does

Looks for members of a group that closed and did not leave: no LeaveGroup request names them, and no heartbeat of
KIP-848 says that they leave.

## Why it is bad

The coordinator cannot know that the member is gone. No member reads its partitions until its session ends, which
takes 45 seconds with Java's defaults.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a difference. Java's consumer leaves when it closes, unless it is static. In a
  classic group a static member stays (see ``static-member-leaves``); under KIP-848 it says that it will come back.

A member is judged if its close succeeded and if its last request to the group before that was answered without an
error. Not judged: a member that was joining, one whose connection to the coordinator had ended, a member of a classic
group that had no answer for its session timeout, as after a long freeze, and a close while a fault acted on the network
or the brokers, or shortly after it. A member of a KIP-848 group does not itself end its session.

## What it needs

The witness's frames and the members' histories.

## References

CSM-API-05 (``AbstractCoordinator#maybeLeaveGroup``, ``ConsumerMembershipManager#leaveGroup``).
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judging.availability import Span
from harness.model.anomaly import Anomaly, Sample
from harness.model.contract import OpComplete
from harness.model.evidence import Evidence
from harness.model.exchanges import connections
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level, Outcome
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.asked import Asked, of_group, unread_of_members
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.timing import SESSION, setting_ms
from suites.analysis.consuming.unaware import during_cut
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS

STAYS = Anomaly("stays-after-close", "{count:member} closed without leaving the group", Level.SHOULD)
HEARTBEAT = "ConsumerGroupHeartbeat"


def judged(evidence: Evidence) -> Iterator[tuple[Asked, list[Asked]]]:
    """Yield the last request of each member before a close that is judged, and all that it asked its group."""
    closed = _closed(evidence)
    for process, requests in of_group(evidence).items():
        closing_ns = lives(evidence)[process].closing_ns
        if closing_ns is None or process not in closed or not requests:
            continue
        before = [each for each in requests if each.request.arrived_ns < closing_ns]
        is_judged = _is_member(evidence, before, closing_ns) and not during_cut(
            evidence, Span(closing_ns, lives(evidence)[process].end_ns)
        )
        if is_judged:
            yield before[-1], requests


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the members."""
    stays = [last for last, requests in judged(evidence) if not any(map(_leaves, requests))]
    if not stays:
        return []
    samples: list[Sample] = [
        {"member": last.process, "api": last.api, "at_ns": last.request.arrived_ns} for last in stays
    ]
    found = STAYS.found(len(stays), samples)
    doubt_if_unreadable(found, unread_of_members(evidence))
    return [found]


def _closed(evidence: Evidence) -> set[str]:
    """Return the processes whose close succeeded."""
    return {
        str(event.producer)
        for event in evidence.history
        if isinstance(event, OpComplete) and event.op == "close" and event.outcome == [Outcome.OK.value]
    }


@grants("no-member-when-it-closed")
def _is_member(evidence: Evidence, before: list[Asked], closing_ns: int) -> bool:
    """Return whether the client certainly took itself for a member, and could tell the coordinator, as it closed."""
    joining = [each for each in before if each.api in ("JoinGroup", "SyncGroup", HEARTBEAT)]
    answered = [each for each in before if each.answer is not None and each.answer.t_ns < closing_ns]
    if not joining or joining[-1].api == "JoinGroup" or not answered:
        return False
    if joining[-1].api == "SyncGroup" and (
        joining[-1] not in answered or any(each.member.instance_id for each in joining)
    ):
        return False
    joined_ns = joining[-1].request.arrived_ns
    has_failed = any(each.code and each.request.arrived_ns >= joined_ns for each in before)
    connection = connections(evidence)[answered[-1].request.conn]
    return (
        not answered[-1].code
        and not has_failed
        and connection.closed_ns > closing_ns
        and (joining[-1].api == HEARTBEAT or not _has_expired(evidence, answered))
    )


def _has_expired(evidence: Evidence, answered: list[Asked]) -> bool:
    """Return whether a classic member had reason to take its session for ended before it had closed."""
    heard_ns = max(each.answer.t_ns for each in answered if each.answer is not None)
    end_ns = lives(evidence)[answered[-1].process].end_ns
    return end_ns - heard_ns >= setting_ms(evidence, SESSION, min) * NS_PER_MS


def _leaves(each: Asked) -> bool:
    return each.api == "LeaveGroup" or (each.api == HEARTBEAT and (each.member.epoch or 0) < 0)


def _arises(evidence: Evidence) -> int:
    return sum(1 for _ in judged(evidence))


CHECK = Check(
    name="stays-after-close",
    summary="Members that closed without leaving their group.",
    requirements=(Requirement("CSM-API-05", Level.SHOULD, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="never_leaves_its_group",
    run=run,
    workloads=frozenset({"consume"}),
)
