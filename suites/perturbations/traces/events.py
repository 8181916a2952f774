"""Changes of a trace: one event is missing, duplicated, or has other fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from msgspec.structs import replace as changed

from clients.reference.telemetry.trace import TraceEvent
from harness.model.evidence import Evidence, view
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.analysis.promises import EVERY, EXACTLY_ONCE
from suites.checks.trace.trace_model import events_of
from suites.perturbations.perturbation import channels

E = TypeVar("E", bound=TraceEvent)
Events = tuple[TraceEvent, ...]
TRACE = channels("trace")


@view
def trace_of(evidence: Evidence) -> Events:
    """Return the events of the trace."""
    return tuple(events_of(evidence))


def of(kind: type[E], holds: Callable[[E], bool] = lambda event: True) -> Callable[[Evidence], list[int]]:
    """Return a function that finds the indexes of events of a kind for which ``holds``."""

    def places(evidence: Evidence) -> list[int]:
        return [at for at, event in enumerate(trace_of(evidence)) if isinstance(event, kind) and holds(event)]

    return places


def put(change: Callable[[TraceEvent], Sequence[TraceEvent]]) -> Callable[[Evidence, int], Evidence]:
    """Return a perturbation that replaces one event by others."""

    def apply(evidence: Evidence, at: int) -> Evidence:
        events = trace_of(evidence)
        return replace(evidence, trace=(*events[:at], *change(events[at]), *events[at + 1 :]))

    return apply


def with_fields(**fields: object) -> Callable[[Evidence, int], Evidence]:
    """Return a perturbation that gives an event these fields."""
    return put(lambda event: (changed(event, **fields),))


def plus(name: str, by: int) -> Callable[[Evidence, int], Evidence]:
    """Return a perturbation that increases a field of an event by ``by``."""
    return put(lambda event: (changed(event, **{name: getattr(event, name) + by}),))


#: Remove an event, and duplicate an event.
gone = put(lambda event: ())
twice = put(lambda event: (event, event))


def on_trace(
    name: str,
    defect: str,
    check: str | tuple[str, ...],
    places: Callable[[Evidence], Sequence[int]],
    apply: Callable[[Evidence, int], Evidence],
    verdict: Verdict = Verdict.FAIL,
    exactly_once: bool = False,
) -> Perturbation:
    """Return a perturbation of only the trace, which a check of traces must catch."""
    codes = (check,) if isinstance(check, str) else check
    guarantees = EXACTLY_ONCE if exactly_once else EVERY
    return Perturbation(name, TRACE, defect, codes, places, apply, verdict, guarantees)
