"""What automatic commits have to cover, and when a client is free to make them. Pure views.

With ``enable.auto.commit`` a client commits what its application has done with. It has done with a record once it has
reported it. That is before the poll that follows, or the end of the handler that was given the record.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from harness.judging.availability import Span
from harness.model.evidence import Evidence, view
from harness.model.harness_events import HarnessEvent
from harness.model.units import NS_PER_MS
from suites.analysis.consuming.asked import Asked, asked
from suites.analysis.consuming.committing import Sent, alone, is_automatic, sent
from suites.analysis.consuming.lives import Life, lives
from suites.analysis.consuming.ownership import Ownership, ownerships
from suites.analysis.consuming.timing import SLACK_NS
from suites.analysis.consuming.unaware import during_cut
from suites.analysis.excuses import grants

INTERVAL: Final = "auto.commit.interval.ms"
#: Requests by which a member changes its group. It commits when that is over.
REBALANCES: Final = ("JoinGroup", "SyncGroup", "LeaveGroup")


class Done(NamedTuple):
    """A process has done with a partition's records before ``offset``, by a turn that ended at ``at_ns``."""

    owned: Ownership
    offset: int
    at_ns: int


def interval_ns(evidence: Evidence) -> int | None:
    """Return the longest interval between automatic commits; None if there are none, or the client cannot be told."""
    if not is_automatic(evidence) or INTERVAL in evidence.record.not_set:
        return None
    return max(int(config.get(INTERVAL, 0)) for config in evidence.record.spec.configs) * NS_PER_MS


@view
def done(evidence: Evidence) -> list[Done]:
    """Return the ends of all turns, for each partition of which they had records, of the client under test.

    Records are left out that were taken before the listener was called at the end of their ownership.
    """
    made = sent(evidence)
    found: list[Done] = []
    for owned in ownerships(evidence):
        if owned.process not in made or not (owned.is_declared or owned.process in alone(evidence)):
            continue
        ends: dict[int, int] = {}
        for got in (got for run in owned.runs for got in run):
            ends[got.processed_ns] = max(ends.get(got.processed_ns, 0), got.offset + 1)
        found += [Done(owned, offset, at_ns) for at_ns, offset in sorted(ends.items())]
    return found


def covering(evidence: Evidence, each: Done, until_ns: int) -> list[Sent]:
    """Return the process's commits of at least this offset that arrived by then, also those that were refused."""
    partition = each.owned.partition
    return [
        commit
        for commit in sent(evidence)[each.owned.process]
        if each.owned.begin_ns <= commit.arrived_ns <= until_ns
        and commit.offsets.get(partition, -1) >= each.offset
    ]


def bound_ns(life: Life, from_ns: int, least_ns: int) -> int:
    """Return until when a client may take for what it does between two turns: ``least_ns``, and a second.

    It takes longer if one turn lasts for the whole of that second.
    """
    due_ns = from_ns + least_ns
    ends = [turn.end_ns for turn in life.turns if turn.begin_ns <= due_ns < turn.end_ns]
    return max([due_ns, *ends]) + SLACK_NS


def is_free(evidence: Evidence, owned: Ownership, span: Span) -> bool:
    """Return whether a process could work throughout, and no fault kept it from the brokers."""
    return is_at_work(evidence, owned, span) and not during_cut(evidence, span)


@grants("commit-cannot-be-made")
def is_at_work(evidence: Evidence, owned: Ownership, span: Span) -> bool:
    """Return whether a process kept a partition throughout, ran, and did not rebalance."""
    life = lives(evidence)[owned.process]
    is_kept = owned.begin_ns <= span.begin_ns and (owned.end_ns is None or span.end_ns <= owned.end_ns)
    return (
        is_kept
        and life.covers(span)
        and span.end_ns <= last_sign_ns(evidence).get(owned.process, 0)
        and not any(nap.overlap_ns(*span) for nap in life.frozen)
        and not _rebalances(asked(evidence)[owned.process], span)
    )


def _rebalances(requests: list[Asked], span: Span) -> bool:
    """Return whether a process asked to join or to leave shortly before or in a period."""
    return any(
        each.api in REBALANCES and span.begin_ns - SLACK_NS <= each.request.arrived_ns <= span.end_ns
        for each in requests
    )


@view
@grants("killed-before-it-was-told")
def last_sign_ns(evidence: Evidence) -> dict[str, int]:
    """Return process -> the last moment at which it certainly lived: it said or asked something.

    The harness reports that it has killed a process some time after the process has died.
    """
    last: dict[str, int] = {}
    for event in evidence.history:
        if not isinstance(event, HarnessEvent):
            process = str(event.producer)
            last[process] = max(last.get(process, 0), event.mono_ns)
    for process, requests in asked(evidence).items():
        sent_ns = (each.request.arrived_ns for each in requests)
        last[process] = max([last.get(process, 0), *sent_ns])
    return last
