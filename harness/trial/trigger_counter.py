"""Events as triggers: which is meant, and when it has been seen often enough. Pure.

A fault that starts "at the third Produce response", or when the client has told of its hundredth record, hits the same
place in every client's life, however fast the client or the machine is; elapsed time does not.
"""

from __future__ import annotations

from harness.model.contract import WHOLE_OPS, AnyEvent, OpComplete, OpInvoke
from harness.model.rows import Frame
from harness.model.spec import OnClientEvent, OnFrame
from harness.witness.trigger import matches

Counted = OnFrame | OnClientEvent


class TriggerCounter:
    """Counts what one trigger waits for: the frames of the witness, or the records that the client tells of."""

    def __init__(self, trigger: Counted) -> None:
        self._trigger = trigger
        self._seen = 0

    def feed(self, event: Frame | AnyEvent) -> bool:
        """True exactly once: when the ``nth`` is in ``event``."""
        before = self._seen
        self._seen += _counts(self._trigger, event)
        return before < self._trigger.nth <= self._seen


def _counts(trigger: Counted, event: Frame | AnyEvent) -> int:
    match trigger, event:
        case OnFrame(), Frame():
            return matches(trigger, event)
        case OnClientEvent(what="invoke"), OpInvoke() if event.op not in WHOLE_OPS:
            return event.count
        case OnClientEvent(), OpComplete() if event.op not in WHOLE_OPS:
            return event.outcome.count(trigger.what)
    return 0
