"""When each process owned each partition, as far as its listener says so."""

from __future__ import annotations

from harness.judging.availability import Span
from harness.model.consumer_contract import PartitionsAssigned
from harness.model.evidence import Evidence, view
from suites.analysis.consuming.ownership import ownerships


@view
def declared(evidence: Evidence) -> dict[str, dict[int, list[Span]]]:
    """Return process -> partition -> when the process owned it, of processes whose listener reports assignments.

    A process that was assigned nothing is one of them.
    """
    last_ns = max((event.mono_ns for event in evidence.history), default=0)
    found: dict[str, dict[int, list[Span]]] = {
        str(event.producer): {} for event in evidence.history if isinstance(event, PartitionsAssigned)
    }
    for each in ownerships(evidence):
        if each.is_declared:
            end_ns = last_ns if each.end_ns is None else each.end_ns
            found[each.process].setdefault(each.partition, []).append(Span(each.begin_ns, end_ns))
    return found
