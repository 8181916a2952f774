"""Protocol events as triggers: which frame is meant, and when it has been seen often enough.

A fault that starts "at the third Produce response" hits the same place in every client's life, however fast the
client or the machine is; elapsed time does not.
"""

from __future__ import annotations

from harness.rows import Frame
from harness.spec import FrameMatch, FrameSeen


def matches(meant: FrameSeen | FrameMatch, frame: Frame) -> bool:
    """True if ``frame`` is of the kind that is meant, whichever its number."""
    if frame.kind != meant.direction or frame.api != meant.api:
        return False
    if meant.partition is not None and all(part.partition != meant.partition for part in frame.produce):
        return False
    return isinstance(meant, FrameSeen) or _narrowly(meant, frame)


def _narrowly(match: FrameMatch, frame: Frame) -> bool:
    return (
        match.version in (None, frame.api_version)
        and match.client_id in (None, frame.client_id)
        and match.connection in (None, frame.conn)
        and (match.error_code is None or match.error_code in (frame.error_codes or (0,)))
    )


class TriggerCounter:
    """Counts the matching frames of one trigger."""

    def __init__(self, trigger: FrameSeen) -> None:
        self._trigger = trigger
        self._seen = 0

    def feed(self, frame: Frame) -> bool:
        """True exactly once: when ``frame`` is the ``nth`` that matches."""
        if not matches(self._trigger, frame):
            return False
        self._seen += 1
        return self._seen == self._trigger.nth
