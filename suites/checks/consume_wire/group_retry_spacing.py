"""# group-retry-spacing

## What it does

Measures how soon a process repeats a request after its coordinator, or the broker that it asked for one, answered that
it has to wait.

## Why it is bad

A coordinator that loads has the offsets of all its groups to read. Members that ask at the speed of the network keep it
from that, and all of them do it at the same time.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a difference. The Java client waits retry.backoff.ms, less 20 % of jitter, before it
  repeats FindCoordinator, JoinGroup or OffsetFetch.

The pause is measured from when the answer passed the witness to when the next request of the kind arrived there. The
client waited for less than that, except for a millisecond of its clock. A request counts if it was sent to the same
broker (FindCoordinator: to any), and if no other request of the kind was in flight when the answer came. Not judged:
clients that cannot be given retry.backoff.ms.

## What it needs

The witness's frames and the members' histories.

## References

CSM-GRP-01 (``AbstractCoordinator#ensureCoordinatorReady``, ``#joinGroupIfNeeded``; KIP-580).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final, NamedTuple

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence, view
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.wire.error_table import BY_NAME
from suites.analysis.consuming.asked import Asked, of_group, unread_of_members
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS
from suites.checks.consume_wire.coordinator_not_sought import FIND
from suites.checks.wire.retry_spacing import BACKOFF, CLOCK_MS, LEAST_OF_BACKOFF

HASTY = Anomaly(
    "group-retry-too-soon",
    "{count:request} repeated within {least_ms} ms of an answer to wait ({apis}); the least is {limit_ms} ms",
    Level.SHOULD,
)
#: The errors after which a request has to wait, by its API.
WAITS: Final = {
    FIND: (BY_NAME["COORDINATOR_NOT_AVAILABLE"].code, BY_NAME["COORDINATOR_LOAD_IN_PROGRESS"].code),
    "JoinGroup": (BY_NAME["COORDINATOR_LOAD_IN_PROGRESS"].code,),
    "OffsetFetch": (BY_NAME["COORDINATOR_LOAD_IN_PROGRESS"].code,),
}


class Repeated(NamedTuple):
    """A request that was told to wait, and the next one of its kind."""

    refused: Asked
    again: Asked

    @property
    def pause_ns(self) -> int:
        """How long the client waited at most."""
        assert self.refused.answer is not None
        return self.again.request.arrived_ns - self.refused.answer.t_ns


@view
def repeated(evidence: Evidence) -> list[Repeated]:
    """Return the requests that were repeated after an answer to wait, in the order in which they were."""
    return [
        Repeated(refused, again)
        for api in WAITS
        for requests in of_group(evidence, api).values()
        for refused, again in pairwise(requests)
        if _is_repetition(refused, again)
    ]


@grants("asked-beside")
def _is_repetition(refused: Asked, again: Asked) -> bool:
    """Return whether a request follows an answer to wait. One that was sent beside it does not."""
    told = refused.answer
    if told is None or refused.code not in WAITS[refused.api] or again.request.arrived_ns <= told.t_ns:
        return False
    if again.sent_ns < refused.request.arrived_ns:
        return False
    return refused.api == FIND or again.request.broker == refused.request.broker


def backoff_ms(evidence: Evidence) -> int | None:
    """Return the shortest retry.backoff.ms of a member, or None if the client cannot be given one."""
    given = [config.get(BACKOFF) for config in evidence.record.spec.configs]
    if BACKOFF in evidence.record.not_set or None in given:
        return None
    return min(int(value) for value in given if value is not None)


@grants("jitter-of-group-backoff")
def _is_too_soon(case: Repeated, limit_ms: int) -> bool:
    return case.pause_ns < (limit_ms - CLOCK_MS) * NS_PER_MS


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the requests."""
    applied_ms = backoff_ms(evidence)
    if applied_ms is None:
        return []
    limit_ms = int(applied_ms * LEAST_OF_BACKOFF)
    cases = [each for each in repeated(evidence) if _is_too_soon(each, limit_ms)]
    if not cases:
        return []
    found = HASTY.found(
        len(cases),
        map(_sample, cases),
        least_ms=min(each.pause_ns for each in cases) // NS_PER_MS,
        apis=tuple(sorted({each.again.api for each in cases})),
        limit_ms=limit_ms,
    )
    doubt_if_unreadable(found, unread_of_members(evidence))
    return [found]


def _sample(each: Repeated) -> Sample:
    return {
        "member": each.again.process,
        "api": each.again.api,
        "error_code": each.refused.code,
        "broker": each.again.request.broker,
        "conn": each.again.request.conn,
        "at_ns": each.again.request.arrived_ns,
        "pause_ms": each.pause_ns // NS_PER_MS,
    }


def _arises(evidence: Evidence) -> int:
    return 0 if backoff_ms(evidence) is None else len(repeated(evidence))


CHECK = Check(
    name="group-retry-spacing",
    summary="Requests to coordinators that are repeated without a pause.",
    requirements=(Requirement("CSM-GRP-01", Level.MUST, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="looks_up_without_a_pause",
    run=run,
    workloads=frozenset({"consume"}),
)
