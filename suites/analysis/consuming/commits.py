"""The commits that members reported, and what they say about the offset that the group has stored. Pure views.

The coordinator stores commits in the order in which it gets them. Of two commits, the one that ended before the other
was called is the earlier one. A commit that failed may still have been stored, until its request cannot be on its way
any more.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Final, NamedTuple

from harness.model.consumer_contract import OffsetsCommitted
from harness.model.evidence import Evidence, view
from harness.model.harness_events import GroupCommitted
from suites.analysis.consuming.tried import is_tried
from suites.analysis.excuses import grants

#: How long after its failure a commit may still reach the coordinator: longer than any fault holds a request back.
ON_ITS_WAY_NS: Final = 10_000_000_000


class Commit(NamedTuple):
    """One partition of one commit, as the member reported it."""

    member: str
    partition: int
    offset: int
    how: str
    success: bool
    invoke_ns: int
    complete_ns: int

    @property
    def last_ns(self) -> int:
        """The last moment at which the coordinator may have stored it."""
        return self.complete_ns if self.success else self.complete_ns + ON_ITS_WAY_NS


@view
def commits(evidence: Evidence) -> dict[int, list[Commit]]:
    """Return partition -> its commits, in the order of their calls."""
    found: dict[int, list[Commit]] = {}
    for event in evidence.history:
        if not isinstance(event, OffsetsCommitted):
            continue
        for at in event.offsets:
            if at.topic == evidence.record.topic:
                found.setdefault(at.partition, []).append(
                    Commit(
                        str(event.producer),
                        at.partition,
                        at.offset,
                        event.how,
                        event.success,
                        event.invoke_ns,
                        event.complete_ns,
                    )
                )
    for each in found.values():
        each.sort(key=lambda commit: commit.invoke_ns)
    return found


@view
def vouched(evidence: Evidence) -> dict[int, list[Commit]]:
    """Return the same, but believe only the client under test: a companion's commit may have been stored, or not."""
    return {
        partition: [
            each if is_tried(evidence, each.member) else each._replace(success=False) for each in made
        ]
        for partition, made in commits(evidence).items()
    }


@grants("commit-set-back")
def stored_at_least(made: Iterable[Commit], at_ns: int) -> int:
    """Return an offset below which the stored one cannot be at ``at_ns``, given the commits of a partition.

    It is that of a commit that had succeeded by then, unless one of a smaller offset may have been stored after it.
    """
    least, smaller_last_ns = 0, -1
    called = sorted((each for each in made if each.invoke_ns <= at_ns), key=_offset)
    for offset, same in groupby(called, key=_offset):
        alike = list(same)
        if any(
            each.success and each.complete_ns < at_ns and smaller_last_ns < each.invoke_ns for each in alike
        ):
            least = offset
        smaller_last_ns = max(smaller_last_ns, *(each.last_ns for each in alike))
    return least


def _offset(commit: Commit) -> int:
    return commit.offset


def finally_stored(evidence: Evidence) -> dict[int, int] | None:
    """Return partition -> the offset that the coordinator has after the trial; None if it was not asked."""
    events = [event for event in evidence.history if isinstance(event, GroupCommitted)]
    if not events:
        return None
    topic = evidence.record.topic
    return {at.partition: at.offset for at in events[-1].offsets if at.topic == topic}
