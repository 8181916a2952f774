"""Select frames for a trigger, or for a fault on single frames."""

from __future__ import annotations

from harness.model.rows import Frame
from harness.model.spec import FrameMatch, OnFrame


def matches(meant: OnFrame | FrameMatch, frame: Frame) -> bool:
    """Return True if ``frame`` matches the description, regardless of its number."""
    if frame.kind != meant.direction or frame.api != meant.api:
        return False
    if meant.partition is not None and all(part.partition != meant.partition for part in frame.produce):
        return False
    return isinstance(meant, OnFrame) or _narrowly(meant, frame)


def _narrowly(match: FrameMatch, frame: Frame) -> bool:
    return (
        match.version in (None, frame.api_version)
        and match.client_id in (None, frame.client_id)
        and match.connection in (None, frame.conn)
        and (match.error_code is None or match.error_code in (frame.error_codes or (0,)))
    )
