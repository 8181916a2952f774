"""The checks of the client's own trace, and the behaviours that they judge together."""

from __future__ import annotations

from suites.checks.trace import bookkeeping, deadlines, in_flight, sequence, transition

TRACE_CHECKS = (transition.CHECK, in_flight.CHECK, bookkeeping.CHECK, sequence.CHECK, deadlines.CHECK)
#: What a scenario names that is run by clients with a trace; for all others nothing is asked.
TRACED = tuple(sorted({each.id for check in TRACE_CHECKS for each in check.requirements}))
