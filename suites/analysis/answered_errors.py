"""Errors that a broker had answered when a client reported a record as written. They are the cause of its report."""

from __future__ import annotations

from harness.model.evidence import Evidence, Operation, view
from harness.model.units import NS_PER_MS
from harness.wire.error_table import error_for
from suites.analysis.attempts import Attempt, attempts

#: The answer is stamped after its bytes were passed on.
SLACK_NS = 5 * NS_PER_MS
#: How soon after an answer a client reports its records.
TOLD_WITHIN_NS = 1_000 * NS_PER_MS


def error_before_ack(evidence: Evidence, send: Operation) -> str | None:
    """Return the name of the error in the last answer for the record's partition before the client reported it.

    None if that answer was a success, came before the record was handed over, or came long before the report.
    """
    if send.partition is None or send.complete_ns is None:
        return None
    until_ns = send.complete_ns + SLACK_NS
    from_ns = max(send.invoke_ns, send.complete_ns - TOLD_WITHIN_NS)
    last = None
    for attempt in _answered(evidence).get(send.partition, ()):
        if from_ns <= (attempt.answered_ns or 0) <= until_ns:
            last = attempt
    return error_for(last.error_code).name if last is not None and last.error_code else None


@view
def _answered(evidence: Evidence) -> dict[int, list[Attempt]]:
    """Map each partition to its answered attempts, in the order of their answers."""
    found: dict[int, list[Attempt]] = {}
    for attempt in sorted(attempts(evidence), key=lambda each: each.answered_ns or 0):
        if attempt.answered_ns is not None:
            found.setdefault(attempt.part.partition, []).append(attempt)
    return found
