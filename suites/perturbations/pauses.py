"""A pause in the middle of a trial: everything after it happens later, which makes room for a defect.

The client lives meanwhile (its heartbeat continues) and nothing is in transit: a pause begins when no request
waits for its answer and no fault is in effect. The pause itself is not a defect. Traces cannot be paused, so
a perturbation that needs a pause changes evidence without a trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from msgspec.structs import asdict
from msgspec.structs import replace as changed

from harness.model.contract import AnyEvent, OpComplete, ShutdownComplete, Stats
from harness.model.evidence import Evidence, view
from harness.model.rows import FaultRow, Frame, FrameKind, LogRecord, Phases, ProducePart
from harness.model.units import NS_PER_MS
from suites.perturbations.edits import moved_fault, with_history

SECOND_NS = 1_000 * NS_PER_MS
#: A pause does not begin this close to a fault.
NEAR_NS = 200 * NS_PER_MS


@view
def quiet(evidence: Evidence) -> tuple[int, ...]:
    """Return times right before a Produce request, except the first, with nothing in transit and no fault nearby."""
    windows = [row.effective_ns for row in evidence.faults if row.effective_ns is not None]
    found = []
    for frame, waiting in _rows_and_waiting(evidence):
        if frame is not None and frame.kind is FrameKind.REQUEST:
            at_ns = frame.arrived_ns - 1
            near = any(begin - NEAR_NS <= at_ns <= end + NEAR_NS for begin, end in windows)
            if frame.api == "Produce" and not waiting and not near:
                found.append(at_ns)
    return tuple(found[1:])


def idle_ns(evidence: Evidence, since_ns: int, until_ns: int) -> int | None:
    """Return the first time of an interval at which no request waits for its answer, or None."""
    began_ns = since_ns
    for frame, waiting in _rows_and_waiting(evidence):
        if not waiting and (frame is None or frame.arrived_ns > began_ns):
            return began_ns if began_ns <= until_ns else None
        if frame is not None:
            began_ns = max(began_ns, frame.t_ns + 1)
    return None


def waiting_at(evidence: Evidence, at_ns: int) -> int:
    """Return how many requests wait for their answer at this time."""
    before = replace(evidence, frames=tuple(row for row in evidence.frames if row.t_ns <= at_ns))
    return [waiting for _, waiting in _rows_and_waiting(before)][-1]


def _rows_and_waiting(evidence: Evidence) -> Iterator[tuple[Frame | None, int]]:
    """Yield each row with the number of requests that waited before it, and last None with those still waiting."""
    waiting: set[tuple[int, int | None]] = set()
    for frame in sorted((*evidence.frames, *evidence.blocked_frames), key=lambda frame: frame.t_ns):
        yield frame, len(waiting)
        request = (frame.conn, frame.correlation_id)
        if frame.kind is FrameKind.REQUEST and frame.acks != 0:
            waiting.add(request)
        elif frame.kind is FrameKind.RESPONSE:
            waiting.discard(request)
        elif frame.kind is FrameKind.CLOSE:
            waiting = {each for each in waiting if each[0] != frame.conn}
    yield None, len(waiting)


def paused(evidence: Evidence, at_ns: int, for_ns: int, since: int = 0) -> Evidence:
    """Everything from ``at_ns`` on happens ``for_ns`` later. The client's heartbeat continues.

    Of the client's events at exactly that time, only those from number ``since`` on are moved. Of the phases
    at exactly that time, only the end of the trial is moved.
    """
    pause = _Pause(evidence, at_ns, for_ns, since)
    return with_history(
        replace(
            evidence,
            record=changed(evidence.record, phases=pause.phases(evidence.record.phases)),
            frames=tuple([pause.frame(frame) for frame in evidence.frames]),
            blocked_frames=tuple([pause.frame(frame) for frame in evidence.blocked_frames]),
            faults=tuple([pause.fault(row) for row in evidence.faults]),
            log=tuple([pause.record(record) for record in evidence.log]),
        ),
        [*map(pause.told, evidence.history), *pause.heartbeats(evidence)],
    )


class _Pause:
    """Moves the rows of each kind."""

    def __init__(self, evidence: Evidence, at_ns: int, for_ns: int, since: int) -> None:
        first = evidence.history[0]
        self._at_ns, self._for_ns, self._since = at_ns, for_ns, since
        self._at_wall_ms = (at_ns + first.wall_ns - first.mono_ns) // NS_PER_MS

    def phases(self, phases: Phases) -> Phases:
        moved = {name: self.later(value) for name, value in asdict(phases).items() if value != self._at_ns}
        later: Phases = changed(phases, **moved | {"end_ns": self.later(phases.end_ns)})
        return later

    def later(self, t_ns: int | None) -> int | None:
        return None if t_ns is None else self._ns(t_ns)

    def _ns(self, t_ns: int) -> int:
        return t_ns + self._for_ns if t_ns >= self._at_ns else t_ns

    def _wall_ms(self, t_ms: int) -> int:
        return t_ms + self._for_ns // NS_PER_MS if t_ms >= self._at_wall_ms else t_ms

    def frame(self, frame: Frame) -> Frame:
        if frame.t_ns < self._at_ns:
            return frame
        parts = tuple([self._part(part) for part in frame.produce])
        return changed(
            frame, t_ns=self._ns(frame.t_ns), received_ns=self.later(frame.received_ns), produce=parts
        )

    def _part(self, part: ProducePart) -> ProducePart:
        first_ms, last_ms = part.first_timestamp_ms, part.max_timestamp_ms
        if first_ms is None or last_ms is None:
            return part
        return changed(
            part, first_timestamp_ms=self._wall_ms(first_ms), max_timestamp_ms=self._wall_ms(last_ms)
        )

    def fault(self, row: FaultRow) -> FaultRow:
        return moved_fault(row, self._ns)

    def record(self, record: LogRecord) -> LogRecord:
        return changed(record, timestamp_ms=self._wall_ms(record.timestamp_ms))

    def told(self, event: AnyEvent) -> AnyEvent:
        if event.seq < self._since:
            return event
        mono_ns = self._ns(event.mono_ns)
        later = changed(event, mono_ns=mono_ns, wall_ns=event.wall_ns + mono_ns - event.mono_ns)
        if not isinstance(later, OpComplete):
            return later
        return changed(
            later,
            invoke_ns=list(map(self._ns, later.invoke_ns)),
            complete_ns=list(map(self._ns, later.complete_ns)),
        )

    def heartbeats(self, evidence: Evidence) -> Iterator[Stats]:
        beats = [
            event for event in evidence.history if isinstance(event, Stats) and event.mono_ns < self._at_ns
        ]
        is_shut = any(
            isinstance(event, ShutdownComplete) and self.told(event) == event for event in evidence.history
        )
        if not beats or is_shut:
            return
        for t_ns in range(self._at_ns, self._at_ns + self._for_ns, SECOND_NS):
            yield changed(beats[-1], mono_ns=t_ns, wall_ns=beats[-1].wall_ns + t_ns - beats[-1].mono_ns)
