"""# coordinator-not-sought

## What it does

Looks for members that go on asking a broker which has answered that it is not their coordinator, and that do not look
for the new one.

## Why it is bad

The group has moved to another broker. A member that does not follow cannot commit, sends no heartbeat that counts, and
is removed. It reads on without knowing, or stops reading for good.

## How it is judged per guarantee

- **at-least-once, at-most-once**: forbidden for each API of a group. After NOT_COORDINATOR a member must send
  FindCoordinator before it asks the same broker again.
- A difference: the same after COORDINATOR_NOT_AVAILABLE. A coordinator whose log has too few replicas gives this answer
  as well (``GroupCoordinatorService``), and stays the coordinator.

A request counts only if the client sent it more than half a second after it had certainly read the answer. If the
broker has answered as the coordinator since then, the member may go on.

## What it needs

The witness's frames and the members' histories. If the member's process stalled meanwhile, the trial is inconclusive.

## References

CSM-GRP-01 (``AbstractCoordinator#markCoordinatorUnknown``), and CSM-OFC-05 for a consumer without a subscription.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.wire.error_table import BY_NAME
from suites.analysis.consuming.asked import Asked, of_group, unread_of_members
from suites.analysis.consuming.committing import alone
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS

NOT_SOUGHT = Anomaly(
    "coordinator-not-sought",
    "{count:request} to a broker that had answered that it is not the coordinator ({apis}), without a search for it",
)
UNAVAILABLE = Anomaly(
    "unavailable-coordinator-asked",
    "{count:request} to a broker that had answered that there is no coordinator ({apis}), without a search for one",
    Level.SHOULD,
)
FIND: Final = "FindCoordinator"
LOADS: Final = BY_NAME["COORDINATOR_LOAD_IN_PROGRESS"].code
MOVED: Final = BY_NAME["NOT_COORDINATOR"].code
GONE: Final = (BY_NAME["COORDINATOR_NOT_AVAILABLE"].code, MOVED)


class Stubborn(NamedTuple):
    """A refusal, and a request to the same broker after it."""

    refused: Asked
    again: Asked


def refusals(evidence: Evidence) -> list[Asked]:
    """Return the requests that were answered with another coordinator, if the answer has reached the client."""
    return [
        each
        for requests in of_group(evidence).values()
        for each in requests
        if each.code in GONE and each.reached_ns is not None
    ]


def stubborn(evidence: Evidence) -> Iterator[Stubborn]:
    """Yield each request to a broker that had refused one, if the client neither searched nor was accepted since."""
    searches = of_group(evidence, FIND)
    asked = of_group(evidence)
    seen: set[int] = set()
    for refused in sorted(refusals(evidence), key=lambda each: each.code != MOVED):
        if refused.received_ns is None:
            continue
        for again in asked[refused.process]:
            if again.request.broker != refused.request.broker or again.sent_ns <= refused.received_ns:
                continue
            if _has_searched(refused, again, searches[refused.process]):
                break
            if _is_accepted(refused, again, asked[refused.process]):
                break
            if id(again.request) not in seen:
                seen.add(id(again.request))
                yield Stubborn(refused, again)


def _has_searched(refused: Asked, again: Asked, searches: list[Asked]) -> bool:
    return any(
        refused.request.arrived_ns <= each.request.arrived_ns <= again.request.arrived_ns for each in searches
    )


@grants("accepted-since")
def _is_accepted(refused: Asked, again: Asked, requests: list[Asked]) -> bool:
    """Return whether the broker has answered as the coordinator since it refused."""
    broker, told_ns = refused.request.broker, refused.answer.t_ns if refused.answer else 0
    return any(
        each.answer is not None
        and each.request.broker == broker
        and told_ns < each.answer.t_ns < again.request.arrived_ns
        and each.code not in (LOADS, *GONE)
        for each in requests
    )


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind. Inconclusive if something stalled meanwhile."""
    broken: dict[Anomaly, list[Stubborn]] = {}
    for each in stubborn(evidence):
        broken.setdefault(NOT_SOUGHT if each.refused.code == MOVED else UNAVAILABLE, []).append(each)
    return [_finding(evidence, anomaly, cases) for anomaly, cases in broken.items()]


def _finding(evidence: Evidence, anomaly: Anomaly, cases: list[Stubborn]) -> Finding:
    apis = tuple(sorted({each.again.api for each in cases}))
    of_some_alone = any(each.again.process in alone(evidence) for each in cases)
    requirement = "" if of_some_alone else "CSM-GRP-01"
    finding = anomaly.found(len(cases), map(_sample, cases), requirement=requirement, apis=apis)
    doubt_if_unreadable(finding, unread_of_members(evidence))
    for each in cases:
        doubt_if_stalled(evidence, finding, each.refused.request.arrived_ns, each.again.request.arrived_ns)
    return finding


def _sample(each: Stubborn) -> Sample:
    return {
        "member": each.again.process,
        "api": each.again.api,
        "broker": each.again.request.broker,
        "refused_ns": each.refused.answer.t_ns if each.refused.answer else None,
        "at_ns": each.again.request.arrived_ns,
    }


def _arises(evidence: Evidence) -> int:
    return len(refusals(evidence))


def _arises_alone(evidence: Evidence) -> int:
    return sum(each.process in alone(evidence) for each in refusals(evidence))


CHECK = Check(
    name="coordinator-not-sought",
    summary="Members that go on asking a broker that is not their coordinator.",
    requirements=(
        Requirement("CSM-GRP-01", Level.MUST, arises=_arises),
        Requirement("CSM-OFC-05", Level.MUST, arises=_arises_alone),
    ),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="keeps_its_coordinator",
    run=run,
    workloads=frozenset({"consume"}),
)
