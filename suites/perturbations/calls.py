"""Calls of the application and the state of the client: views that perturbations of results share."""

from __future__ import annotations

from collections.abc import Sequence

from harness.model.contract import OpComplete, OpInvoke
from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Outcome
from suites.perturbations.exchanges import Spot, answer_to, settled

TIMEOUT, MAX_BLOCK = "delivery.timeout.ms", "max.block.ms"


def completed(evidence: Evidence, op: str) -> OpComplete | None:
    """Return the end of the last flush or close, or None if it did not succeed."""
    ops = [event for event in evidence.history if isinstance(event, OpComplete) and event.op == op]
    return ops[-1] if ops and ops[-1].outcome == [Outcome.OK] else None


def flush_call(evidence: Evidence) -> OpInvoke | None:
    """Return the call of the first flush."""
    flushes = (event for event in evidence.history if isinstance(event, OpInvoke) and event.op == "flush")
    return next(flushes, None)


def mostly_acked(evidence: Evidence) -> bool:
    """True for a trial of more than ten records, all of which were acknowledged."""
    sent = evidence.operations
    return len(sent) > 10 and len(evidence.acknowledged) == len(sent)


def acked_last(evidence: Evidence) -> Sequence[Spot]:
    """Return the settled batch that was acknowledged last, in a trial whose flush succeeded."""
    found = settled(evidence)
    if not found or completed(evidence, "flush") is None:
        return ()
    return (max(found, key=lambda spot: answer_to(evidence, found[spot]).t_ns),)


def too_late_ns(evidence: Evidence) -> int:
    """Return how long after its call a result exceeds every limit."""
    config = evidence.record.spec.config
    return (int(config[TIMEOUT]) + int(config[MAX_BLOCK]) + 10_000) * NS_PER_MS
