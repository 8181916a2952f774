"""Answers that arrived out of the order of their requests (NET-INF-02), so that it is unknown what they answer.

A client that reads an answer to a request other than its oldest one can only close the connection, and learns
nothing about the requests after it. On a connection that a rule of the witness tampered with, all answers
after a request that never reached the broker are out of order. So are all answers after a duplicated one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from harness.model.evidence import Evidence, view
from harness.model.rows import Disposition, Frame, FrameKind

ACKS = "acks"


@view
def out_of_turn_ns(evidence: Evidence) -> dict[int, int]:
    """Map each connection to the time of its first answer that was, or may have been, out of order."""
    silent = "Produce" if str(evidence.record.spec.config.get(ACKS)) == "0" else None
    asked, answered = defaultdict(list), defaultdict(list)
    for frame in (*evidence.frames, *evidence.blocked_frames):
        if frame.kind is FrameKind.REQUEST and frame.api != silent:
            asked[frame.conn].append(frame)
        elif frame.kind is FrameKind.RESPONSE and frame.disposition is not Disposition.BLOCKED:
            answered[frame.conn].append(frame)
    found = {conn: _first(asked[conn], frames) for conn, frames in answered.items()}
    return {conn: t_ns for conn, t_ns in found.items() if t_ns is not None}


def _first(asked: Iterable[Frame], answered: Iterable[Frame]) -> int | None:
    expected = iter(sorted(asked, key=lambda frame: (frame.arrived_ns, frame.correlation_id or 0)))
    is_doubled = False
    for answer in sorted(answered, key=lambda frame: frame.t_ns):
        oldest = next(expected, None)
        if is_doubled or oldest is None or oldest.correlation_id != answer.correlation_id:
            return answer.t_ns
        is_doubled = answer.disposition is Disposition.ANNOTATED
    return None
