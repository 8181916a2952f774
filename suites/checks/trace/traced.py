"""The checks of the client's own trace, and the behaviours that they judge together."""

from __future__ import annotations

from suites.checks.trace import bookkeeping, deadlines, in_flight, sequence, transition

TRACE_CHECKS = (transition.CHECK, in_flight.CHECK, bookkeeping.CHECK, sequence.CHECK, deadlines.CHECK)
#: The behaviours that a scenario names for clients with a trace. Other clients are not judged by them.
TRACED = tuple(sorted({each.id for check in TRACE_CHECKS for each in check.requirements}))
