"""What the application asked of the client, and how it ended: views of the history."""

from __future__ import annotations

from harness.contract import OpComplete
from harness.evidence import Evidence
from harness.outcome import Outcome


def done(evidence: Evidence, op: str) -> OpComplete | None:
    """The last flush or close, None if it did not succeed."""
    ops = [event for event in evidence.history if isinstance(event, OpComplete) and event.op == op]
    return ops[-1] if ops and ops[-1].outcome == [Outcome.OK] else None
