"""When each member's process lived, was frozen, and worked on what a poll had returned. Pure views.

A process lives from the moment at which the harness asked it to join, until it is killed or has shut down, or to the
end of the trial.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from harness.judging.availability import Span
from harness.model.consumer_contract import RecordsConsumed
from harness.model.contract import OpInvoke, ShutdownComplete
from harness.model.evidence import Evidence, view
from harness.model.harness_events import MemberFrozen, MemberKilled, MemberStarted, MemberThawed


@dataclass
class Life:
    """One process. ``closing_ns`` is when it was asked to close, ``turns`` are from a poll's return to its report."""

    process: str
    begin_ns: int
    end_ns: int
    closing_ns: int | None = None
    frozen: list[Span] = field(default_factory=list)
    turns: list[Span] = field(default_factory=list)

    def covers(self, span: Span) -> bool:
        """Return True if the process lived for the whole of a period and was not asked to close in it."""
        until_ns = self.end_ns if self.closing_ns is None else self.closing_ns
        return self.begin_ns <= span.begin_ns and span.end_ns <= until_ns

    def after_work(self, span: Span) -> Span:
        """Return the part of a period that follows the turn with which it began. It may be empty."""
        busy_ns = max((turn.end_ns for turn in self.turns if turn.begin_ns <= span.begin_ns), default=0)
        return Span(min(max(span.begin_ns, busy_ns), span.end_ns), span.end_ns)


@view
def lives(evidence: Evidence) -> dict[str, Life]:
    """Return the life of each process of the group, by its name."""
    last_ns = max((event.mono_ns for event in evidence.history), default=0)
    found: dict[str, Life] = {}
    frozen_ns: dict[str, int] = {}
    for event in evidence.history:
        if isinstance(event, MemberStarted):
            found[event.member] = Life(event.member, event.mono_ns, last_ns)
        life = found.get(str(event.producer))
        if life is None:
            continue
        match event:
            case MemberFrozen():
                frozen_ns.setdefault(life.process, event.mono_ns)
            case MemberThawed() | MemberKilled() | ShutdownComplete():
                if (since_ns := frozen_ns.pop(life.process, None)) is not None:
                    life.frozen.append(Span(since_ns, event.mono_ns))
                if not isinstance(event, MemberThawed):
                    life.end_ns = event.mono_ns
            case OpInvoke(op="close"):
                life.closing_ns = event.mono_ns
            case RecordsConsumed():
                life.turns.append(Span(event.polled_ns, event.mono_ns))
    for process, since_ns in frozen_ns.items():
        found[process].frozen.append(Span(since_ns, found[process].end_ns))
    return found


@view
def frozen(evidence: Evidence) -> dict[str, list[Span]]:
    """Return process -> when it was frozen."""
    spans: defaultdict[str, list[Span]] = defaultdict(list)
    for life in lives(evidence).values():
        spans[life.process] += life.frozen
    return spans


def outside(span: Span, holes: list[Span]) -> Iterator[Span]:
    """Yield the parts of a period that lie outside of these others, which are in order and do not overlap."""
    begin_ns = span.begin_ns
    for hole in holes:
        if hole.end_ns <= begin_ns or hole.begin_ns >= span.end_ns:
            continue
        if begin_ns < hole.begin_ns:
            yield Span(begin_ns, hole.begin_ns)
        begin_ns = hole.end_ns
    if begin_ns < span.end_ns:
        yield Span(begin_ns, span.end_ns)
