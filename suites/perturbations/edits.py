"""Changes of one channel: the client's results or the witness's frames. Rows stay complete and in order of time."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec.structs import replace as changed

from harness.model.contract import AnyEvent, OpComplete, Stats
from harness.model.evidence import Evidence, Operation
from harness.model.rows import FaultRow, Frame, FrameKind, ProducePart, TrialRecord
from harness.model.spec import TrialSpec
from harness.model.verdicts import Outcome

#: Correlation ids of inserted requests begin here, far beyond those of a trial.
INSERTED_ID = 1_000_000_000


def with_spec(evidence: Evidence, **changes: Any) -> Evidence:
    """Return the evidence with other fields in the trial's spec."""
    spec: TrialSpec = changed(evidence.record.spec, **changes)
    return with_record(evidence, spec=spec)


def with_record(evidence: Evidence, **changes: Any) -> Evidence:
    """Return the evidence with other fields in the trial's record."""
    record: TrialRecord = changed(evidence.record, **changes)
    return replace(evidence, record=record)


def with_config(evidence: Evidence, **settings: str | int | bool) -> Evidence:
    """Return the evidence with other planned settings. Underscores in the names stand for dots."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return with_spec(evidence, config=evidence.record.spec.config | named)


def with_history(evidence: Evidence, events: Iterable[AnyEvent]) -> Evidence:
    """Return the evidence with these events, renumbered without a gap."""
    numbered = [
        event if event.seq == seq else changed(event, seq=seq)
        for seq, event in enumerate(sorted(events, key=lambda event: event.mono_ns))
    ]
    return replace(evidence, history=tuple(numbered))


def moved_fault(row: FaultRow, moved: Callable[[int], int | None]) -> FaultRow:
    """Return the row with its windows at other times."""
    windows = {name: getattr(row, name) for name in ("requested_ns", "effective_ns", "certain_ns")}
    return changed(row, **{name: span and tuple(map(moved, span)) for name, span in windows.items()})


def with_results(evidence: Evidence, sends: Iterable[Operation]) -> Evidence:
    """Return the evidence in which the client reports this for these records.

    Without ``complete_ns``, there is no result.
    """
    told = {send.n: send for send in sends}
    events: list[AnyEvent] = []
    moved: list[tuple[OpComplete, Operation]] = []
    for event in evidence.history:
        if isinstance(event, OpComplete) and event.op == "send" and not told.keys().isdisjoint(event.records):
            kept, gone = _split(event, told)
            moved += gone
            if kept is not None:
                events.append(kept)
        else:
            events.append(event)
    return with_history(evidence, _recounted(evidence.history, [*events, *_told_anew(moved)]))


def ended(send: Operation, at_ns: int, error: str, outcome: Outcome = Outcome.INFO) -> Operation:
    """Return the result of a record that was not written, or whose result the client does not know."""
    result: Operation = changed(
        send, complete_ns=at_ns, outcome=outcome, partition=-1, offset=-1, error=error
    )
    return result


def _split(
    event: OpComplete, told: Mapping[int, Operation]
) -> tuple[OpComplete | None, list[tuple[OpComplete, Operation]]]:
    """Return the part of the line that stays, and the results that are now reported at another time."""
    rows, gone = [], []
    for row, n in enumerate(event.records):
        if (send := told.get(n)) is None:
            rows.append(_row(event, row))
        elif send.complete_ns is not None:
            if send.complete_ns == event.complete_ns[row]:
                rows.append(send)
            else:
                gone.append((event, send))
    return (_line(event, rows, event.mono_ns) if rows else None), gone


def _row(event: OpComplete, row: int) -> Operation:
    return Operation(
        event.records[row],
        event.invoke_ns[row],
        event.complete_ns[row],
        Outcome(event.outcome[row]),
        event.partition[row],
        event.offset[row],
        event.error[row],
    )


def _line(event: OpComplete, sends: Sequence[Operation], mono_ns: int) -> OpComplete:
    line: OpComplete = changed(
        event,
        mono_ns=mono_ns,
        wall_ns=event.wall_ns + mono_ns - event.mono_ns,
        records=[send.n for send in sends],
        outcome=[send.outcome.value for send in sends],
        error=[send.error for send in sends],
        invoke_ns=[send.invoke_ns for send in sends],
        complete_ns=[send.complete_ns or 0 for send in sends],
        partition=[send.partition for send in sends],
        offset=[send.offset for send in sends],
    )
    return line


def _told_anew(moved: Iterable[tuple[OpComplete, Operation]]) -> list[OpComplete]:
    """Return one line for each time and each original line."""
    lines: defaultdict[tuple[int, int], list[Operation]] = defaultdict(list)
    of = {event.seq: event for event, _ in moved}
    for event, send in moved:
        lines[event.seq, send.complete_ns or 0].append(send)
    return [_line(of[seq], sends, at_ns) for (seq, at_ns), sends in lines.items()]


def _recounted(before: Sequence[AnyEvent], after: Sequence[AnyEvent]) -> list[AnyEvent]:
    """Update the heartbeats to count the results that now exist."""
    was, now = _completions(before), _completions(after)
    return [
        changed(event, completed=max(0, event.completed + now(event.mono_ns) - was(event.mono_ns)))
        if isinstance(event, Stats)
        else event
        for event in after
    ]


def _completions(events: Iterable[AnyEvent]) -> Callable[[int], int]:
    """Return a function that counts the records with a result by a given time."""
    told = [event for event in events if isinstance(event, OpComplete) and event.op == "send"]
    moments = sorted(event.mono_ns for event in told for _ in event.records)
    return lambda at_ns: bisect_right(moments, at_ns)


def with_frames(evidence: Evidence, frames: Iterable[Frame]) -> Evidence:
    """Return the evidence with these frames, in order of time."""
    return replace(evidence, frames=tuple(sorted(frames, key=lambda frame: frame.t_ns)))


def with_frames_added(evidence: Evidence, frames: Iterable[Frame]) -> Evidence:
    """Return the evidence with these additional frames."""
    return with_frames(evidence, (*evidence.frames, *frames))


def with_frame(evidence: Evidence, index: int, **changes: Any) -> Evidence:
    """Return the evidence with one changed frame."""
    frames = list(evidence.frames)
    frames[index] = changed(frames[index], **changes)
    return with_frames(evidence, frames)


def with_parts(evidence: Evidence, parts: Mapping[tuple[int, int], ProducePart | None]) -> Evidence:
    """Return the evidence with other parts of Produce frames, by (frame, part).

    None removes a part. A frame without parts is removed.
    """
    frames: list[Frame | None] = list(evidence.frames)
    touched: defaultdict[int, dict[int, ProducePart | None]] = defaultdict(dict)
    for (at_frame, at_part), new in parts.items():
        touched[at_frame][at_part] = new
    for index, new_parts in touched.items():
        row = evidence.frames[index]
        produce = [new_parts.get(at, part) for at, part in enumerate(row.produce)]
        kept = tuple([part for part in produce if part is not None])
        codes = tuple(sorted({part.error_code for part in kept if part.error_code}))
        is_answer = row.kind is FrameKind.RESPONSE
        told = codes if is_answer else row.error_codes
        frames[index] = changed(row, produce=kept, error_codes=told) if kept else None
    return with_frames(evidence, [frame for frame in frames if frame is not None])


def refusing(request: Frame, code: int, **fields: Any) -> Frame:
    """Return the response that refuses every batch of a Produce request, at its time.

    ``fields`` are other fields of it.
    """
    parts = [
        ProducePart(part.topic, part.partition, base_offset=-1, error_code=code) for part in request.produce
    ]
    own = {"kind": FrameKind.RESPONSE, "acks": None, "timeout_ms": None, "size_bytes": 100}
    response: Frame = changed(request, produce=tuple(parts), error_codes=(code,), **own | fields)
    return response


def inserted_id(evidence: Evidence) -> int:
    """Return a correlation id that no request uses yet."""
    return INSERTED_ID + len(evidence.frames)
