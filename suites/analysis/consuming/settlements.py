"""After each change of a group's members: whether every partition came to have exactly one owner before the next one.

A change is a process that has begun, that was asked to close, or that was killed. The group has *settled* if each
partition has one owner, as far as listeners say so, during the last second before the next change. Before that a
partition may have no owner while the group rebalances, and two owners while two processes report at the same time.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations, pairwise
from typing import NamedTuple

from harness.judging.availability import Span
from harness.model.contract import OpComplete, OpInvoke
from harness.model.evidence import Evidence, view
from harness.model.harness_events import MemberKilled
from suites.analysis.consuming.declared import declared
from suites.analysis.consuming.timing import SLACK_NS


class Settlement(NamedTuple):
    """A change at ``at_ns`` by ``process``, and since when the group had settled; None if the next change came first.

    ``shared`` are the partitions that had two owners for longer than a second meanwhile.
    """

    process: str
    at_ns: int
    settled_ns: int | None
    shared: tuple[int, ...]


@view
def settlements(evidence: Evidence) -> list[Settlement]:
    """Return each change since the load began, until the members are closed at the end."""
    phases = evidence.record.phases
    if phases.load_ns is None or phases.final_ns is None:
        return []
    made = [each for each in _changes(evidence) if phases.load_ns <= each[0] < phases.final_ns]
    return [
        Settlement(
            process, at_ns, _settled_ns(evidence, Span(at_ns, until_ns)), _shared(evidence, at_ns, until_ns)
        )
        for (at_ns, process), (until_ns, _) in pairwise((*made, (phases.final_ns, "")))
    ]


def _changes(evidence: Evidence) -> Iterator[tuple[int, str]]:
    for event in evidence.history:
        match event:
            case OpComplete(op="subscribe") | OpInvoke(op="close") | MemberKilled():
                yield event.mono_ns, str(event.producer)


def _settled_ns(evidence: Evidence, span: Span) -> int | None:
    """Return the moment from which on each partition has one owner, if that is a second before the end of the span."""
    owned = [_owned(evidence, partition) for partition in range(evidence.record.spec.workload.partitions)]
    edges = {edge for each in chain.from_iterable(owned) for edge in each}
    moments = [span.begin_ns, *sorted(edge for edge in edges if span.begin_ns < edge < span.end_ns)]
    since_ns = until_ns = span.end_ns
    for begin_ns in reversed(moments):
        owners = (sum(each.begin_ns <= begin_ns and until_ns <= each.end_ns for each in of) for of in owned)
        if any(count != 1 for count in owners):
            break
        since_ns = until_ns = begin_ns
    return since_ns if span.end_ns - since_ns >= SLACK_NS else None


def _shared(evidence: Evidence, begin_ns: int, end_ns: int) -> tuple[int, ...]:
    def together_ns(one: Span, two: Span) -> int:
        return min(one.end_ns, two.end_ns, end_ns) - max(one.begin_ns, two.begin_ns, begin_ns)

    return tuple(
        partition
        for partition in range(evidence.record.spec.workload.partitions)
        if any(together_ns(*each) > SLACK_NS for each in combinations(_owned(evidence, partition), 2))
    )


def _owned(evidence: Evidence, partition: int) -> list[Span]:
    return [span for of in declared(evidence).values() for span in of.get(partition, [])]
