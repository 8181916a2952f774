"""Bytes that passed the witness unread, and the records that they may have contained.

A frame that the witness could not decode hides its content. A connection that stopped speaking Kafka's
protocol hides everything that passed on it from then on. The torn beginning of a frame hides nothing, since
no broker or client took it for a frame. An unread frame puts records in doubt if their partition's Produce
requests went to its broker and they were in transit at that time.
"""

from __future__ import annotations

from typing import NamedTuple

from harness.model.evidence import Evidence, view
from harness.model.rows import Frame, FrameKind
from suites.analysis.attempts import PRODUCE
from suites.analysis.excuses import grants
from suites.analysis.failures import paths
from suites.analysis.way import SLACK_NS

#: How the note of a row about half a frame begins.
TORN = "the beginning of a"


class Unread(NamedTuple):
    """The interval in which something passed unread, and the broker to which it belongs."""

    begin_ns: int
    end_ns: int
    broker: int


@view
def unread(evidence: Evidence) -> list[Unread]:
    """Return every unread item. A connection that became unreadable is one entry, up to its end."""
    found: dict[int, Unread] = {}
    frames: list[Unread] = []
    for frame in evidence.frames:
        if frame.kind is FrameKind.OPAQUE:
            if not (frame.note or "").startswith(TORN):
                known = found.get(frame.conn, Unread(frame.t_ns, frame.t_ns, frame.broker))
                found[frame.conn] = known._replace(end_ns=frame.t_ns)
        elif _is_undecoded(frame):
            frames.append(Unread(frame.arrived_ns, frame.t_ns, frame.broker))
    return [*found.values(), *frames]


@grants("unread-bytes")
def unread_about(evidence: Evidence, partition: int, begin_ns: int, end_ns: int) -> int:
    """Return how many unread items in this interval may concern an attempt of this partition."""
    path = paths(evidence).get(partition)
    return sum(
        (path is None or each.broker in path.brokers)
        and each.begin_ns - SLACK_NS <= end_ns
        and begin_ns <= each.end_ns + SLACK_NS
        for each in unread(evidence)
    )


def _is_undecoded(frame: Frame) -> bool:
    return (
        frame.api == PRODUCE and not frame.produce and frame.kind in (FrameKind.REQUEST, FrameKind.RESPONSE)
    )
