"""Changes of a group's history: added and changed events, and time in which nothing happens. Numbers stay complete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace as changed

from harness.model.consumer_contract import Consumed, OffsetsCommitted, Place, Position, RecordsConsumed
from harness.model.contract import AnyEvent, OpComplete, OpInvoke, Stats
from harness.model.evidence import Evidence
from harness.model.exchanges import connections
from harness.model.harness_events import (
    HARNESS,
    GroupCommitted,
    HarnessEvent,
    MemberCalled,
    MemberFrozen,
    MemberThawed,
)
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.model.spec import AtTime, FaultSpec
from harness.model.units import NS_PER_MS
from harness.workloads.consume import accounting
from suites.analysis.consuming.lives import lives
from suites.perturbations.edits import moved_fault, with_record, with_spec

#: The id of an added call.
ADDED_ID = 1_000_000
SECOND_NS = 1_000 * NS_PER_MS
NO_PARAMS: Mapping[str, int] = MappingProxyType({})


def with_events(evidence: Evidence, events: Iterable[AnyEvent]) -> Evidence:
    """Return the evidence with these events, in order of time, and numbered for each process."""
    spoken: Counter[str] = Counter()
    numbered = []
    events = list(events)
    acts = sum(isinstance(event, HarnessEvent) and event.producer != HARNESS for event in events)
    for event in sorted(events, key=lambda event: event.mono_ns):
        process = str(event.producer)
        seq = spoken[process]
        spoken[process] += process == HARNESS or not isinstance(event, HarnessEvent)
        recounted = {"acts": acts} if isinstance(event, GroupCommitted) else {}
        numbered.append(event if event.seq == seq and not recounted else changed(event, seq=seq, **recounted))
    return replace(evidence, history=tuple(numbered))


def with_added(evidence: Evidence, *events: AnyEvent) -> Evidence:
    """Return the evidence with these additional events."""
    return with_events(evidence, [*evidence.history, *events])


def with_changed(evidence: Evidence, changes: dict[int, AnyEvent | None]) -> Evidence:
    """Return the evidence with other events at these places of the history. None removes one."""
    events = (changes.get(at, event) for at, event in enumerate(evidence.history))
    return with_events(evidence, [event for event in events if event is not None])


def wall_ns(evidence: Evidence, mono_ns: int) -> int:
    """Return the wall clock at a moment."""
    first = evidence.history[0]
    return first.wall_ns + mono_ns - first.mono_ns


def delivery(
    evidence: Evidence, process: str, partition: int, offset: int, at_ns: int, took_ns: int = NS_PER_MS
) -> RecordsConsumed:
    """Return the event of a turn that took one record of the log."""
    value = accounting.items(evidence).get((partition, offset))
    taken = Consumed(evidence.record.topic, partition, 1, offset, offset, [offset], [value])
    told_ns = at_ns + took_ns
    return RecordsConsumed(
        seq=0,
        mono_ns=told_ns,
        wall_ns=wall_ns(evidence, told_ns),
        producer=process,
        count=1,
        partitions=[taken],
        polled_ns=at_ns,
    )


def commit(
    evidence: Evidence,
    process: str,
    partition: int,
    offset: int,
    at_ns: int,
    *,
    success: bool = True,
    took_ns: int = NS_PER_MS,
) -> OffsetsCommitted:
    """Return the event of a synchronous commit of one partition."""
    done_ns = at_ns + took_ns
    return OffsetsCommitted(
        seq=0,
        mono_ns=done_ns,
        wall_ns=wall_ns(evidence, done_ns),
        producer=process,
        offsets=[Position(evidence.record.topic, partition, offset)],
        success=success,
        how="sync",
        invoke_ns=at_ns,
        complete_ns=done_ns,
        error=None if success else "TimeoutException",
    )


def called(
    evidence: Evidence, process: str, op: str, position: Position, at_ns: int, id: int = ADDED_ID
) -> tuple[AnyEvent, ...]:
    """Return the events of a call about one partition, which the client accepted at once."""
    by: dict[str, Any] = {
        "seq": 0,
        "mono_ns": at_ns,
        "wall_ns": wall_ns(evidence, at_ns),
        "producer": process,
        "op": op,
    }
    done: dict[str, Any] = {"outcome": ["ok"], "error": [None], "invoke_ns": [at_ns], "complete_ns": [at_ns]}
    return (
        MemberCalled(positions=[position], **by),
        OpInvoke(id=id, **by),
        OpComplete(id=id, **by, **done),
    )


def nap(evidence: Evidence, process: str, begin_ns: int, end_ns: int) -> tuple[MemberFrozen, MemberThawed]:
    """Return the events of a process that the harness had stopped for a while."""
    begin_wall_ns, end_wall_ns = wall_ns(evidence, begin_ns), wall_ns(evidence, end_ns)
    return (
        MemberFrozen(seq=0, mono_ns=begin_ns, wall_ns=begin_wall_ns, producer=process),
        MemberThawed(seq=0, mono_ns=end_ns, wall_ns=end_wall_ns, producer=process),
    )


def with_fault(
    evidence: Evidence, kind: str, begin_ns: int, lasts_ns: int, params: Mapping[str, int] = NO_PARAMS
) -> Evidence:
    """Return the evidence of a trial with one more fault."""
    start = AtTime(max(0, (begin_ns - (evidence.record.phases.load_ns or 0)) // NS_PER_MS))
    window = begin_ns, begin_ns + lasts_ns
    spec = FaultSpec(kind, start, max(1, lasts_ns // NS_PER_MS), dict(params))
    row = FaultRow(len(evidence.faults), spec, window, window, 1)
    planned = with_spec(evidence, faults=(*evidence.record.spec.faults, spec))
    return replace(planned, faults=(*evidence.faults, row))


def with_stored(evidence: Evidence, partition: int, offset: int) -> Evidence:
    """Return the evidence in which the coordinator has another offset of a partition after the trial."""
    changes: dict[int, AnyEvent | None] = {}
    for at, event in enumerate(evidence.history):
        if isinstance(event, GroupCommitted):
            others = [each for each in event.offsets if each.partition != partition]
            mine = Position(evidence.record.topic, partition, offset)
            changes[at] = changed(event, offsets=[*others, mine])
    return with_changed(evidence, changes)


def without_place(places: list[Place], partition: int) -> list[Place]:
    """Return the places without those of a partition."""
    return [place for place in places if place.partition != partition]


def is_quiet(evidence: Evidence, at_ns: int) -> bool:
    """Return whether nothing is in progress that :func:`waited` would turn into a stall or into long work."""
    turns = (turn for life in lives(evidence).values() for turn in life.turns)
    return not any(turn.begin_ns < at_ns <= turn.end_ns for turn in turns) and not any(
        exchange.answer is None and exchange.request.t_ns < at_ns <= connection.closed_ns
        for connection in connections(evidence).values()
        for exchange in connection.exchanges
    )


def waited(evidence: Evidence, at_ns: int, for_ns: int, silent_ns: int = 0) -> Evidence:
    """Return the evidence in which nothing happens for a while from ``at_ns`` on.

    Processes that live have their heartbeats, except in the first ``silent_ns`` of it. What is in progress at that
    time, such as a turn or a fault, takes longer. A fault that ends at that time has ended.
    """
    later = partial(_later, at_ns=at_ns, by_ns=for_ns)
    events = [_event_later(event, later) for event in evidence.history]
    for life in lives(evidence).values():
        if life.begin_ns < at_ns <= life.end_ns:
            events += [
                Stats(
                    seq=0,
                    mono_ns=ns,
                    wall_ns=wall_ns(evidence, ns),
                    producer=life.process,
                    sent=0,
                    completed=0,
                )
                for ns in range(at_ns + silent_ns, at_ns + for_ns, SECOND_NS)
            ]
    phases, ends_later = evidence.record.phases, partial(_later, at_ns=at_ns + 1, by_ns=for_ns)
    moved = {name: ends_later(getattr(phases, name)) for name in ("load_ns", "heal_ns")}
    moved |= {name: later(getattr(phases, name)) for name in ("final_ns", "end_ns")}
    return with_events(
        replace(
            with_record(evidence, phases=changed(phases, **moved)),
            frames=tuple(sorted(_frames_later(evidence.frames, at_ns, for_ns), key=lambda row: row.t_ns)),
            blocked_frames=tuple(_frames_later(evidence.blocked_frames, at_ns, for_ns)),
            faults=tuple(moved_fault(row, ends_later) for row in evidence.faults),
        ),
        events,
    )


Later = Callable[[int | None], int | None]
"""Moves a moment if it is not before the time that is added."""


def _later(ns: int | None, *, at_ns: int, by_ns: int) -> int | None:
    return ns if ns is None or ns < at_ns else ns + by_ns


def _frames_later(frames: Iterable[Frame], at_ns: int, by_ns: int) -> Iterable[Frame]:
    """Yield the frames, those from ``at_ns`` on later, except the answers to requests before it."""
    asked: set[tuple[int, int | None]] = set()
    for row in frames:
        key = row.conn, row.correlation_id
        if row.kind is FrameKind.REQUEST and row.t_ns < at_ns:
            asked.add(key)
        if row.t_ns < at_ns or (row.kind is FrameKind.RESPONSE and key in asked):
            yield row
        else:
            yield changed(row, t_ns=row.t_ns + by_ns, received_ns=row.received_ns and row.received_ns + by_ns)


def _event_later(event: AnyEvent, later: Later) -> AnyEvent:
    moments: dict[str, Any] = {}
    for name in ("mono_ns", "polled_ns", "invoke_ns", "complete_ns"):
        if (found := getattr(event, name, None)) is not None:
            moments[name] = list(map(later, found)) if isinstance(found, list) else later(found)
    wall_ns = event.wall_ns + moments["mono_ns"] - event.mono_ns
    moved: AnyEvent = changed(event, **moments, wall_ns=wall_ns)
    return moved
