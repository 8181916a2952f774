"""When a fault was in effect, and on which brokers."""

from __future__ import annotations

from typing import NamedTuple

from harness.model.evidence import Evidence
from harness.model.exchanges import FOR_EVER
from harness.model.rows import FaultRow
from harness.model.spec import FaultSpec


class Span(NamedTuple):
    """When a fault was in effect. ``due_ns`` is when its end began; it released nothing before that."""

    begin_ns: int
    due_ns: int
    end_ns: int


def span_of(row: FaultRow) -> Span | None:
    """Return when the fault was in effect, or None if it never was."""
    if row.effective_ns is None:
        return None
    begin_ns, end_ns = row.effective_ns
    due_ns = end_ns if row.requested_ns is None else min(end_ns, row.requested_ns[1])
    return Span(begin_ns, max(begin_ns, due_ns), end_ns)


def is_target(spec: FaultSpec, broker: int) -> bool:
    """Return whether the fault was on that broker."""
    return not spec.brokers or broker in spec.brokers


def final_ns(evidence: Evidence) -> int:
    """Return when the client was told to close; connections that end from then on are not caused by a fault."""
    at_ns = evidence.record.phases.final_ns
    return FOR_EVER if at_ns is None else at_ns
