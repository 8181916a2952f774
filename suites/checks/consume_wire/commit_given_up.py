"""# commit-given-up

## What it does

Looks at commits of the application that a coordinator refuses for the moment: whether a synchronous one is repeated
(``commit-given-up``), and an asynchronous one is not (``commit-repeated-by-itself``).

## Why it is bad

A coordinator that moves refuses commits for a moment. An application that waits for its commit counts on the client to
find the new one. One that does not wait commits again soon. A repetition by the client may then overtake the later
commit, and set the stored offset back.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a difference. How often a client tries is its policy.

The refusals are COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE and NOT_COORDINATOR. A synchronous commit may
fail with one of them once default.api.timeout.ms is nearly over. If a client has no such limit, only a commit counts
that it tried once. A commit is not judged if the member rebalanced, was removed or closed meanwhile. A repetition
counts if the refusal had reached the client before.

## What it needs

The witness's frames and the members' histories. If something stalled meanwhile, the trial is inconclusive.

## References

CSM-OFC-01 (``ConsumerCoordinator#commitOffsetsSync``, ``#commitOffsetsAsync``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.model.anomaly import Anomaly, Sample
from harness.model.consumer_contract import OffsetsCommitted
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.asked import of_group, unread_of_members
from suites.analysis.consuming.automatic import REBALANCES
from suites.analysis.consuming.committing import ELSEWHERE, REMOVED, Sent, during
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.timing import API, SLACK_NS, limit_ms
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS

GIVEN_UP = Anomaly(
    "commit-given-up",
    "{count:synchronous commit} given up before the limit, although refused for the moment only",
    Level.SHOULD,
)
BY_ITSELF = Anomaly(
    "commit-repeated-by-itself",
    "{count:asynchronous commit} that the client repeated after a refusal",
    Level.SHOULD,
)
SYNC, ASYNC = "sync", "async"
#: A group's rebalance answers a commit with it.
REBALANCING: Final = 27


class Tried(NamedTuple):
    """A commit that the application made, and its requests."""

    event: OffsetsCommitted
    tries: tuple[Sent, ...]

    @property
    def is_refused(self) -> bool:
        """True if a request of it was refused for the moment."""
        return any(each.asked.code in ELSEWHERE for each in self.tries)


def tried(evidence: Evidence, how: str) -> Iterator[Tried]:
    """Yield each commit of that kind with the requests of these offsets while it lasted, if there were any.

    A commit for which the same process made another one of the same offsets meanwhile is left out.
    """
    events = [event for event in evidence.history if isinstance(event, OffsetsCommitted) and event.how == how]
    same: defaultdict[object, list[OffsetsCommitted]] = defaultdict(list)
    for event in events:
        same[_content(event)].append(event)
    for event in events:
        tries = tuple(during(evidence, event))
        alike = [
            other
            for other in same[_content(event)]
            if other.invoke_ns <= event.complete_ns and event.invoke_ns <= other.complete_ns
        ]
        if tries and len(alike) == 1:
            yield Tried(event, tries)


def _content(event: OffsetsCommitted) -> object:
    return event.producer, tuple((at.topic, at.partition, at.offset) for at in event.offsets)


def given_up(evidence: Evidence) -> Iterator[Tried]:
    """Yield each synchronous commit that failed with a refusal for the moment, before its limit."""
    limit = limit_ms(evidence, API)
    for each in tried(evidence, SYNC):
        event, last = each.event, each.tries[-1].asked
        if event.success or last.code not in ELSEWHERE or last.answer is None:
            continue
        if last.answer.t_ns > event.complete_ns or is_moved_on(evidence, each):
            continue
        lasted_ns = event.complete_ns - event.invoke_ns
        if len(each.tries) == 1 if limit is None else lasted_ns + SLACK_NS < limit * NS_PER_MS:
            yield each


@grants("membership-changed")
def is_moved_on(evidence: Evidence, each: Tried) -> bool:
    """Return whether the process rebalanced, was removed, or was to close while it committed."""
    process, event = str(each.event.producer), each.event
    life = lives(evidence)[process]
    during = [
        asked
        for asked in of_group(evidence)[process]
        if event.invoke_ns - SLACK_NS <= asked.request.arrived_ns <= event.complete_ns
    ]
    return (
        any(asked.api in REBALANCES or asked.code in (*REMOVED, REBALANCING) for asked in during)
        or (life.closing_ns is not None and life.closing_ns <= event.complete_ns)
        or any(nap.overlap_ns(event.invoke_ns, event.complete_ns) for nap in life.frozen)
    )


def repeated(evidence: Evidence) -> Iterator[Tried]:
    """Yield each asynchronous commit that the client sent again when it had read the refusal."""
    for each in tried(evidence, ASYNC):
        refused = [one.asked for one in each.tries if one.asked.code in ELSEWHERE]
        if any(
            first.reached_ns is not None and first.reached_ns < later.asked.sent_ns
            for first in refused
            for later in each.tries
        ):
            yield each


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind. Inconclusive if something stalled meanwhile."""
    found = []
    for anomaly, search in {GIVEN_UP: given_up, BY_ITSELF: repeated}.items():
        cases = list(search(evidence))
        if not cases:
            continue
        finding = anomaly.found(len(cases), map(_sample, cases))
        doubt_if_unreadable(finding, unread_of_members(evidence))
        for each in cases:
            doubt_if_stalled(evidence, finding, each.event.invoke_ns, each.event.complete_ns)
        found.append(finding)
    return found


def _sample(each: Tried) -> Sample:
    return {
        "member": str(each.event.producer),
        "tries": len(each.tries),
        "code": each.tries[-1].asked.code,
        "error": each.event.error,
        "invoke_ns": each.event.invoke_ns,
        "complete_ns": each.event.complete_ns,
    }


def _arises(evidence: Evidence) -> int:
    return sum(each.is_refused for how in (SYNC, ASYNC) for each in tried(evidence, how))


CHECK = Check(
    name="commit-given-up",
    summary="Synchronous commits that are not repeated, and asynchronous ones that are.",
    requirements=(Requirement("CSM-OFC-01", Level.SHOULD, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="commit_sync_gives_up_at_once",
    run=run,
    workloads=frozenset({"consume"}),
)
