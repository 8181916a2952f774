"""How often the situation of a behaviour arose, counted from evidence that every client leaves.

The checks that need no trace use these counts. As in :mod:`suites.checks.trace.situations`, a count covers
every situation that a client must meet in order to break the behaviour, whatever the client did then.
"""

from __future__ import annotations

from harness.model.evidence import Evidence
from suites.analysis.attempts import attempts


def attempts_without_success(evidence: Evidence) -> int:
    """Return the number of attempts that were unanswered or failed, so that a client still had to keep the bytes."""
    answered = evidence.record.spec.config.get("acks") not in (0, "0")
    return sum(answered and attempt.error_code != 0 for attempt in attempts(evidence))


def told_offsets(evidence: Evidence) -> int:
    """Return the number of records that the client acknowledged with an offset."""
    return sum(send.offset >= 0 for send in evidence.acknowledged.values())
