"""Events as triggers: which events count, and when enough of them have occurred. Pure.

A fault that starts "at the third Produce response", or at the client's hundredth record, hits the same point in every
client's activity, however fast the client or the machine is. A fault that starts at a fixed time does not.
"""

from __future__ import annotations

from harness.model.contract import WHOLE_OPS, AnyEvent, OpComplete, OpInvoke
from harness.model.rows import Frame
from harness.model.spec import OnClientEvent, OnFrame
from harness.witness.trigger import matches

Counted = OnFrame | OnClientEvent


class TriggerCounter:
    """Counts the events of one trigger: the witness's frames, or the records that the client reports."""

    def __init__(self, trigger: Counted) -> None:
        self._trigger = trigger
        self._seen = 0

    def feed(self, event: Frame | AnyEvent) -> bool:
        """Return True exactly once: when ``event`` contains the ``nth`` match."""
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
