"""What the checks of the client's own trace share: its events, and how a breach is reported.

A monitor goes over the events once, in the order in which they were decided, and keeps only what its rules need.
It must never accuse a correct client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

import msgspec

from clients.reference.telemetry.trace import TraceEvent
from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence, view
from harness.model.rows import Finding
from harness.model.verdicts import Level
from suites.oracle import MACHINES

ALL_EVENTS = tuple(TraceEvent.__subclasses__())
_ANY_EVENT: Any = Union[ALL_EVENTS]  # noqa: UP007 - made of a list that is known only at run time
_TAGS = frozenset(event.__struct_config__.tag for event in ALL_EVENTS)

FINAL = MACHINES["batch"].final
"""The final states of a batch. SPLIT is not final, since the parts go on."""

MUST, SHOULD = Level.MUST, Level.SHOULD


@view
def events_of(evidence: Evidence) -> Sequence[TraceEvent]:
    """Return the trace as typed events, from memory or from a file. Unknown events are left out."""
    rows: Sequence[Any] = evidence.trace
    if not rows or isinstance(rows[0], TraceEvent):
        return rows
    known = [row for row in rows if row.get("event") in _TAGS]
    return [msgspec.convert(row, _ANY_EVENT, str_keys=True) for row in known]


def number(evidence: Evidence, name: str, default: int) -> int:
    """Return a setting of the trial that is a whole number."""
    return int(evidence.record.spec.config.get(name, default))


def flag(evidence: Evidence, name: str, *, default: bool) -> bool:
    """Return a setting of the trial that is true or false."""
    return str(evidence.record.spec.config.get(name, default)).lower() == "true"


@dataclass(frozen=True, slots=True)
class Breach:
    """One event that a behaviour does not allow: the behaviour, the time, the subject, and what is wrong."""

    requirement: str
    at_ms: int
    subject: str
    what: str


Handler = Callable[[Any], None]


class Monitor:
    """Handles events of the kinds in ``handlers``, one after the other. ``breaches`` holds what is wrong."""

    handlers: Mapping[type[TraceEvent], Handler]

    def __init__(self) -> None:
        self.breaches: list[Breach] = []

    def watch(self, events: Sequence[TraceEvent]) -> list[Breach]:
        """Return the breaches of a whole trace."""
        handler_of = self.handlers.get
        for event in events:
            handler = handler_of(type(event))
            if handler is not None:
                handler(event)
        self.ended()
        return self.breaches

    def ended(self) -> None:
        """Report what is missing at the end of the trace."""

    def accuse(self, requirement: str, event: TraceEvent, subject: str, what: str) -> None:
        self.breaches.append(Breach(requirement, event.at_ms, subject, what))


def breach_anomaly(code: str) -> Anomaly:
    """Return the anomaly of a trace check, which reports the first breach of each requirement."""
    return Anomaly(code, "{count:violation} of {behaviour}, the first: {told}")


def accusation(anomaly: Anomaly, breaches: Sequence[Breach]) -> list[Finding]:
    """Return one finding for each violated requirement, which counts its breaches."""
    of: dict[str, list[Breach]] = {}
    for breach in breaches:
        of.setdefault(breach.requirement, []).append(breach)
    return [_accusation(anomaly, requirement, of[requirement]) for requirement in of]


def _accusation(anomaly: Anomaly, requirement: str, breaches: Sequence[Breach]) -> Finding:
    first = breaches[0]
    rows: Iterable[Sample] = (
        {"at_ms": one.at_ms, "subject": one.subject, "what": one.what} for one in breaches
    )
    told = f"{first.subject or 'the client'} {first.what}"
    return anomaly.found(len(breaches), rows, requirement, behaviour=requirement, told=told)
