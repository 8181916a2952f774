"""Availability: how much work a client completed while the network misbehaved, and for how long it completed none.

It counts elements of the load, such as records; one with the outcome ok is *acknowledged*.

A record *waits* from its call to its result. A record without a result waits until the client was told to close. A
*gap* is a period in which some record waits at every moment and none is acknowledged. It begins with an
acknowledgement, or with a call while no other record waits. It ends with the next acknowledgement, or as soon as no
record waits. Other results end a gap only if no record waits after them.

Recovery counts from the end of the last fault, which is the latest end of an effective window. A trial without such a
window has no recovery. The *first* acknowledgement is the earliest at or after that moment. The *steady* one is the
earliest at or after it such that every gap that begins with it or later is at most ``steady_gap_ms`` long: one second,
plus linger.ms, which every record may spend in its client. Neither depends on the client's performance before the
faults. One more acknowledgement never makes a gap longer or recovery later. A client that had work after the last fault
and no steady acknowledgement did not *recover*.

The *latency* of a record is the time from its call to its result, whatever the result is. Its percentiles are nearest
ranks: one of the latencies, without interpolation. *Requests* are those of the API that carries the load, as the
witness saw them. Those that a fault kept from passing count too, since the client sent them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from harness.model.evidence import Evidence
from harness.model.rows import Availability, FrameKind
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Outcome
from harness.outcomes.statistics import quantile
from harness.plugins import registry

STEADY_MS = 1_000
LINGER = "linger.ms"


class Span(NamedTuple):
    """A period of time."""

    begin_ns: int
    end_ns: int

    @property
    def length_ms(self) -> int:
        return (self.end_ns - self.begin_ns) // NS_PER_MS

    def overlap_ns(self, begin_ns: int, end_ns: int) -> int:
        """Return how much of another period lies in this one."""
        return max(0, min(self.end_ns, end_ns) - max(self.begin_ns, begin_ns))


def availability(evidence: Evidence) -> Availability:
    """Return the availability that a verdict contains."""
    sends = evidence.operations.values()
    outcomes = [send.outcome for send in sends]
    acks = sorted(send.complete_ns for send in evidence.acknowledged.values() if send.complete_ns is not None)
    until_ns = observed_until_ns(evidence)
    waits = [
        Span(send.invoke_ns, until_ns if send.complete_ns is None else send.complete_ns) for send in sends
    ]
    found = gaps(waits, acks)
    after_ns = last_fault_end_ns(evidence)
    first_ns, steady_ns = (
        (None, None)
        if after_ns is None
        else recovery(acks, found, after_ns, steady_gap_ms(evidence) * NS_PER_MS)
    )
    latencies_ns = [send.complete_ns - send.invoke_ns for send in sends if send.complete_ns is not None]
    sizes = _request_sizes(evidence)
    return Availability(
        offered=len(outcomes),
        acked=outcomes.count(Outcome.OK),
        failed=outcomes.count(Outcome.FAIL),
        unknown=outcomes.count(Outcome.INFO),
        longest_gap_ms=max((gap.length_ms for gap in found), default=None),
        first_ack_ms=_since(after_ns, first_ns),
        steady_ack_ms=_since(after_ns, steady_ns),
        recovered=None if not _waited(waits, after_ns) else steady_ns is not None,
        p50_ns=int(quantile(latencies_ns, 0.50)) if latencies_ns else None,
        p99_ns=int(quantile(latencies_ns, 0.99)) if latencies_ns else None,
        requests=len(sizes),
        request_bytes=sum(sizes),
    )


def _waited(waits: Iterable[Span], after_ns: int | None) -> bool:
    """Return True if a fault ended and some record waited then or later."""
    return after_ns is not None and any(wait.end_ns >= after_ns for wait in waits)


def _request_sizes(evidence: Evidence) -> list[int]:
    """Return the sizes in bytes of the requests that carry the load."""
    api = registry.workload(evidence.record.spec.workload.kind).api
    return [
        frame.size_bytes
        for frame in (*evidence.frames, *evidence.blocked_frames)
        if frame.kind is FrameKind.REQUEST and frame.api == api
    ]


def steady_gap_ms(evidence: Evidence) -> int:
    """Return the longest gap, in milliseconds, that still counts as steady."""
    return STEADY_MS + int(evidence.record.spec.config.get(LINGER, 0))


def last_fault_end_ns(evidence: Evidence) -> int | None:
    """Return when the last fault ended, or None if no fault took effect in the trial."""
    return max((row.effective_ns[1] for row in evidence.faults if row.effective_ns is not None), default=None)


def observed_until_ns(evidence: Evidence) -> int:
    """Return until when a record without a result waits: the command to close, or the end of the trial."""
    phases = evidence.record.phases
    if (told := phases.final_ns or phases.end_ns) is not None:
        return told
    return max((event.mono_ns for event in evidence.history), default=0)


def words(scenarios: Iterable[str]) -> tuple[str, str]:
    """Return what messages call an element of the load of these scenarios, and one whose outcome is ok.

    For several workloads, and for scenarios that are not installed, these are general words.
    """
    known = set(registry.names("scenarios"))
    kinds = {registry.scenario(name).workload.kind if name in known else "" for name in scenarios}
    if len(kinds) != 1 or "" in kinds:
        return "element", "done"
    kind = registry.workload(kinds.pop())
    return kind.element, kind.done


def gaps(waits: Iterable[Span], acks: Iterable[int]) -> list[Span]:
    """Return the gaps in these waits, in order of time. Empty gaps are left out."""
    cuts = sorted(set(acks))
    found: list[Span] = []
    for begin_ns, end_ns in merged(waits):
        inside = cuts[bisect_right(cuts, begin_ns) : bisect_left(cuts, end_ns)]
        found += [Span(*ends) for ends in pairwise((begin_ns, *inside, end_ns))]
    return [gap for gap in found if gap.begin_ns < gap.end_ns]


def recovery(
    acks: Sequence[int], found: Iterable[Span], after_ns: int, limit_ns: int
) -> tuple[int | None, int | None]:
    """Return the first and the steady one of these ordered acknowledgements, each None if there is none."""
    too_long = (gap.begin_ns for gap in found if gap.end_ns - gap.begin_ns > limit_ns)
    steady_from_ns = max((begin_ns + 1 for begin_ns in too_long), default=after_ns)
    return _first(acks, after_ns), _first(acks, max(after_ns, steady_from_ns))


def merged(waits: Iterable[Span]) -> list[Span]:
    """Return the periods that these cover without a break, in order of time."""
    found: list[Span] = []
    for begin_ns, end_ns in sorted(waits):
        if found and begin_ns <= found[-1].end_ns:
            found[-1] = Span(found[-1].begin_ns, max(end_ns, found[-1].end_ns))
        else:
            found.append(Span(begin_ns, end_ns))
    return found


def _first(acks: Sequence[int], after_ns: int) -> int | None:
    at = bisect_left(acks, after_ns)
    return acks[at] if at < len(acks) else None


def _since(after_ns: int | None, moment_ns: int | None) -> int | None:
    return None if after_ns is None or moment_ns is None else (moment_ns - after_ns) // NS_PER_MS
