"""Changes of the requests of members and of their answers: other fields, other errors, or none at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.rows import Frame, FrameKind
from suites.analysis.consuming.asked import Asked
from suites.perturbations.edits import with_frames

#: What replaces a frame. None removes it.
Edits = Mapping[int, Frame | None]


def with_edits(evidence: Evidence, edits: Edits) -> Evidence:
    """Return the evidence with other frames, by the identity of those that they replace."""
    rows = [edits.get(id(frame), frame) for frame in evidence.frames]
    return with_frames(evidence, [row for row in rows if row is not None])


def without(evidence: Evidence, requests: Iterable[Asked]) -> Evidence:
    """Return the evidence without these requests and their answers."""
    gone: dict[int, Frame | None] = {}
    for each in requests:
        gone[id(each.request)] = None
        if each.answer is not None:
            gone[id(each.answer)] = None
    return with_edits(evidence, gone)


def asking(each: Asked, **fields: Any) -> dict[int, Frame | None]:
    """Return the edit by which a request names its member differently."""
    return {id(each.request): changed(each.request, members=(changed(each.member, **fields),))}


def refused(each: Asked, code: int) -> dict[int, Frame | None]:
    """Return the edit by which a request is answered with an error; none if it has no answer."""
    if each.answer is None:
        return {}
    members = tuple([changed(part, error_code=code) for part in each.answer.members])
    offsets = tuple([changed(part, error_code=code) for part in each.answer.offsets])
    return {id(each.answer): changed(each.answer, error_codes=(code,), members=members, offsets=offsets)}


def answer_lost(evidence: Evidence, before: Asked, after: Asked) -> Evidence:
    """The connection ends instead of an answer to a request, and another one begins with its next request.

    That is the one ``after`` it, or one before that.
    """
    old, since_ns = before.request.conn, before.request.arrived_ns
    at_ns = min(
        frame.arrived_ns
        for frame in evidence.frames
        if frame.conn == old and frame.kind is FrameKind.REQUEST and frame.arrived_ns > since_ns
    )
    new = 1 + max(frame.conn for frame in evidence.frames)
    rows = [
        changed(frame, conn=new) if frame.conn == old and frame.arrived_ns >= at_ns else frame
        for frame in evidence.frames
        if frame is not before.answer
    ]
    lane, broker = after.request.lane, after.request.broker
    ends = Frame(at_ns - 2, lane, broker, old, FrameKind.CLOSE, closed_by="broker")
    begins = Frame(at_ns - 1, lane, broker, new, FrameKind.OPEN)
    return with_frames(evidence, [*rows, ends, begins])
