"""Protocol events as triggers: which frame is meant, and when it has been seen often enough.

A fault that starts "at the third Produce response" hits the same place in every client's life, however fast the
client or the machine is; elapsed time does not.
"""

from __future__ import annotations

from harness.rows import Frame
from harness.spec import FrameSeen


def matches(trigger: FrameSeen, frame: Frame) -> bool:
    """True if ``frame`` is of the kind that ``trigger`` waits for, whichever its number."""
    if frame.kind != trigger.direction or frame.api != trigger.api:
        return False
    return trigger.partition is None or any(part.partition == trigger.partition for part in frame.produce)


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
