"""Availability: how much of its work a client got done while the network misbehaved, and how long it did not. Pure."""

from __future__ import annotations

from harness.evidence import Evidence
from harness.outcome import Outcome
from harness.rows import Availability


def availability(evidence: Evidence) -> Availability:
    """What a verdict says of it."""
    outcomes = [send.outcome for send in evidence.sends.values()]
    return Availability(
        offered=len(outcomes),
        acked=outcomes.count(Outcome.OK),
        failed=outcomes.count(Outcome.FAIL),
        unknown=outcomes.count(Outcome.INFO),
    )
