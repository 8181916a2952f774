"""What the witness knows about the client's side of a lane: delays that are certain, and the wall clock.

The witness sees a request after the client has sent it, and an answer before the client has it. The
difference is known only if a ``latency`` fault was certainly in effect. It is then at least the fault's delay. The
calls that begin or end a fault can take any time on a busy machine, so nothing is certain while one of them runs, nor
in runs that did not record it.
"""

from __future__ import annotations

from typing import NamedTuple

from harness.model.evidence import Evidence, view
from harness.model.units import NS_PER_MS

LATENCY = "latency"


class Delay(NamedTuple):
    """The minimum delay of a ``latency`` fault between two times, on the lanes of ``brokers`` (empty: all lanes)."""

    begin_ns: int
    end_ns: int
    upstream_ns: int
    downstream_ns: int
    brokers: tuple[int, ...]


@view
def delays(evidence: Evidence) -> list[Delay]:
    """Return the intervals in which answers and requests are certainly late."""
    found = []
    for row in evidence.faults:
        if row.spec.kind == LATENCY and row.certain_ns is not None:
            upstream_ns, downstream_ns = (
                row.spec.params.get(name, 0) * NS_PER_MS for name in ("upstream_ms", "downstream_ms")
            )
            found.append(Delay(*row.certain_ns, upstream_ns, downstream_ns, row.spec.brokers))
    return found


def sent_by_ns(evidence: Evidence, broker: int, seen_ns: int) -> int:
    """Return the latest time at which the client can have sent what the witness saw at ``seen_ns``."""
    least_ns = max(
        (
            delay.upstream_ns
            for delay in _of(evidence, broker)
            if delay.begin_ns <= seen_ns - delay.upstream_ns
            and seen_ns < delay.end_ns
            and _undisturbed(evidence, broker, seen_ns - delay.upstream_ns, seen_ns)
        ),
        default=0,
    )
    return seen_ns - least_ns


def had_from_ns(evidence: Evidence, broker: int, seen_ns: int) -> int:
    """Return the earliest time at which the client can have had what passed the witness at ``seen_ns``."""
    least_ns = max(
        (
            delay.downstream_ns
            for delay in _of(evidence, broker)
            if delay.begin_ns <= seen_ns
            and seen_ns + delay.downstream_ns < delay.end_ns
            and _undisturbed(evidence, broker, seen_ns, seen_ns + delay.downstream_ns)
        ),
        default=0,
    )
    return seen_ns + least_ns


@view
def wall_offsets_ns(evidence: Evidence) -> tuple[int, int]:
    """Return by how much, at least and at most, the client's wall clock was ahead of its monotonic clock.

    (0, 0) if the client reports no wall clock.
    """
    offsets = [event.wall_ns - event.mono_ns for event in evidence.history if event.wall_ns]
    return (min(offsets), max(offsets)) if offsets else (0, 0)


class _Edge(NamedTuple):
    """The interval in which a fault was being applied to or removed from the lanes of ``brokers`` (empty: all)."""

    begin_ns: int
    end_ns: int
    brokers: tuple[int, ...]


@view
def _edges(evidence: Evidence) -> list[_Edge]:
    """Return both edges of each fault. One that is never certain is an edge from its beginning to its end."""
    found = []
    for row in evidence.faults:
        if row.effective_ns is not None:
            begin_ns, gone_ns = row.effective_ns
            certain_ns, until_ns = row.certain_ns or (gone_ns, begin_ns)
            found += [
                _Edge(begin_ns, certain_ns, row.spec.brokers),
                _Edge(until_ns, gone_ns, row.spec.brokers),
            ]
    return found


def _undisturbed(evidence: Evidence, broker: int, begin_ns: int, end_ns: int) -> bool:
    return not any(
        (not edge.brokers or broker in edge.brokers) and edge.begin_ns <= end_ns and begin_ns <= edge.end_ns
        for edge in _edges(evidence)
    )


def _of(evidence: Evidence, broker: int) -> list[Delay]:
    return [delay for delay in delays(evidence) if not delay.brokers or broker in delay.brokers]
