"""What passed the witness unread, and what can have been in it.

A frame that the witness could not decode hides what it was about; a connection that stopped being Kafka's hides all
that passed on it from then on. The torn beginning of a frame hides nothing: no broker and no client took it for one.
An unread frame is a doubt about records of partitions whose Produce went to its broker, and that were under way then.
"""

from __future__ import annotations

from typing import NamedTuple

from harness.model.evidence import Evidence, view
from harness.model.rows import Frame, FrameKind
from suites.analysis.attempts import PRODUCE
from suites.analysis.excuses import grants
from suites.analysis.failures import paths
from suites.analysis.way import SLACK_NS

#: How the note of a row begins that is about half a frame.
TORN = "the beginning of a"


class Unread(NamedTuple):
    """Between which moments something passed unread, and between a client and which broker."""

    begin_ns: int
    end_ns: int
    broker: int


@view
def unread(evidence: Evidence) -> list[Unread]:
    """All of it; a connection that cannot be read any more is one entry, up to its end."""
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
    """How much passed unread that may be about an attempt of this partition between these moments."""
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
