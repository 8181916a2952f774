"""When what a behaviour is about arose, by what any client leaves: how often, for the checks that need no trace.

As in :mod:`suites.checks.trace.situations`, a count is what a client must have met that breaks the behaviour, whatever
it did then.
"""

from __future__ import annotations

from harness.model.evidence import Evidence
from suites.analysis.attempts import attempts


def attempts_without_success(evidence: Evidence) -> int:
    """Produce attempts after which a client still had to keep the bytes: unanswered, or answered with an error."""
    answered = evidence.record.spec.config.get("acks") not in (0, "0")
    return sum(answered and attempt.error_code != 0 for attempt in attempts(evidence))


def told_offsets(evidence: Evidence) -> int:
    """Records that the client acknowledged with an offset."""
    return sum(send.offset >= 0 for send in evidence.acknowledged.values())
