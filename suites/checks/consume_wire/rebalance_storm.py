"""# rebalance-storm

## What it does

Counts how often a group rebalances between two changes of its members, their applications, the brokers or the network.

## Why it is bad

While a group rebalances, its members read little or nothing, and drop what they had read ahead. A group that rebalances
without a cause and without an end looks alive, and falls behind.

## How it is judged per guarantee

- **at-least-once, at-most-once**: forbidden. A group settles after a change. It may take several rebalances: one for
  each step of a cooperative one, one for a session that ends, one for metadata that the leader sees later. More than
  20 without any further change are a storm.

A rebalance is a generation, or a member epoch of KIP-848, that a member was told for the first time. A change is a
process that starts, ends, closes, subscribes, is frozen or goes on, a fault that begins or ends, and the end of a turn
in which an application worked for so long that its member may have been removed.

## What it needs

The witness's frames, the faults and the members' histories. If the process, a broker or the harness stalled meanwhile,
or members of other clients were in the group, the trial is inconclusive.

## References

CSM-GRP-14 (KIP-429): a rebalance settles. librdkafka issue 4783 and franz-go issue 995 (rebalances without an end).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from harness.judging.availability import Span
from harness.model.anomaly import Anomaly, Sample
from harness.model.contract import OpInvoke
from harness.model.evidence import Evidence, view
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.asked import of_group, unread_of_members
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.tried import doubt_if_shared
from suites.analysis.consuming.unaware import late_polls
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS

STORM = Anomaly(
    "rebalance-storm", "{count:time} the group rebalanced in {lasted_ms} ms in which nothing had changed"
)
#: Both say in which generation or epoch their member is.
SYNC, HEARTBEAT = "SyncGroup", "ConsumerGroupHeartbeat"
MOST: Final = 20


class Calm(NamedTuple):
    """A time without any change, and the moments at which the group was told a new generation or epoch in it."""

    span: Span
    rebalances_ns: tuple[int, ...]


@view
def calms(evidence: Evidence) -> list[Calm]:
    """Return the times between two changes, in order."""
    phases = evidence.record.phases
    if phases.load_ns is None or phases.final_ns is None:
        return []
    begin_ns, end_ns = phases.load_ns, phases.final_ns
    inside = sorted({at for at in _changes(evidence) if begin_ns < at < end_ns})
    told = _rebalances(evidence)
    spans = [Span(*pair) for pair in pairwise((begin_ns, *inside, end_ns))]
    return [Calm(span, tuple(at for at in told if span.begin_ns <= at < span.end_ns)) for span in spans]


@grants("group-may-rebalance-after-a-change")
def _changes(evidence: Evidence) -> Iterator[int]:
    for life in lives(evidence).values():
        yield from (life.begin_ns, life.end_ns)
        yield from (edge for span in life.frozen for edge in span)
        yield from (turn.end_ns for turn in late_polls(evidence, life.process))
    for event in evidence.history:
        if isinstance(event, OpInvoke):
            yield event.mono_ns
    for row in evidence.faults:
        if row.effective_ns is not None:
            yield from row.effective_ns


def _rebalances(evidence: Evidence) -> list[int]:
    """Return when a member was told each generation or epoch of the group for the first time."""
    first_ns: dict[int, int] = {}
    for requests in of_group(evidence, SYNC, HEARTBEAT).values():
        for each in requests:
            # The answer of SyncGroup does not repeat the generation.
            epoch = each.member.epoch if each.api == SYNC else each.told.epoch
            if each.code == 0 and each.answer is not None and epoch is not None and epoch > 0:
                first_ns[epoch] = min(first_ns.get(epoch, each.answer.t_ns), each.answer.t_ns)
    return sorted(first_ns.values())


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the rebalances. Inconclusive if something stalled meanwhile."""
    storms = [each for each in calms(evidence) if len(each.rebalances_ns) > MOST]
    if not storms:
        return []
    samples: list[Sample] = [
        {
            "since_ns": each.rebalances_ns[0],
            "until_ns": each.rebalances_ns[-1],
            "count": len(each.rebalances_ns),
        }
        for each in storms
    ]
    count = sum(len(each.rebalances_ns) for each in storms)
    found = STORM.found(count, samples, lasted_ms=sum(each.span.length_ms for each in storms))
    doubt_if_unreadable(found, unread_of_members(evidence))
    doubt_if_shared(evidence, found)
    for each in storms:
        doubt_if_stalled(evidence, found, *each.span)
    return [found]


def _arises(evidence: Evidence) -> int:
    """Count the rebalances."""
    return sum(len(each.rebalances_ns) for each in calms(evidence))


CHECK = Check(
    name="rebalance-storm",
    summary="Groups that rebalance again and again although nothing changes.",
    requirements=(Requirement("CSM-GRP-14", Level.MUST, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "faults", "history"}),
    killed_mutant="joins_without_an_end",
    run=run,
    workloads=frozenset({"consume"}),
)
