"""What each member's application called, when, and how it ended. Pure views.

Not every adapter reports that a call begins. Its end tells when it began.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from harness.judging.availability import Span
from harness.model.contract import OpComplete, OpInvoke
from harness.model.evidence import Evidence, view
from harness.model.harness_events import MemberCalled

PAUSE, RESUME, SEEK = "pause", "resume", "seek"
OPS: Final = (PAUSE, RESUME, SEEK)


class PartitionCall(NamedTuple):
    """A call about one partition of the trial's topic, from its begin to its end. ``error`` is None if it succeeded."""

    process: str
    op: str
    partition: int
    begin_ns: int
    end_ns: int
    error: str | None


@view
def partition_calls(evidence: Evidence) -> list[PartitionCall]:
    """Return the calls that ended, in the order of their begins. One about several partitions is several calls."""
    asked: dict[tuple[str, str], list[MemberCalled]] = {}
    ended: dict[tuple[str, str], list[OpComplete]] = {}
    for event in evidence.history:
        process = str(event.producer)
        match event:
            case MemberCalled(op=op):
                asked.setdefault((process, op), []).append(event)
            case OpComplete(op=op) if op in OPS:
                ended.setdefault((process, op), []).append(event)
    found = [
        PartitionCall(process, op, at.partition, end.invoke_ns[0], end.complete_ns[0], end.error[0])
        for (process, op), calls in asked.items()
        for call, end in zip(calls, ended.get((process, op), ()), strict=False)
        for at in call.positions
        if at.topic == evidence.record.topic
    ]
    return sorted(found, key=lambda each: each.begin_ns)


def calls(evidence: Evidence, process: str, ops: Collection[str]) -> Iterator[Span]:
    """Yield the calls of these that ended, from their begin to their end."""
    for event in evidence.history:
        if isinstance(event, OpComplete) and event.producer == process and event.op in ops:
            yield Span(event.invoke_ns[0], event.mono_ns)


def called_ns(evidence: Evidence, process: str, ops: Collection[str]) -> list[int]:
    """Return when the application of a process called one of these. A moment may be there twice."""
    found = []
    for event in evidence.history:
        if event.producer == process and isinstance(event, OpInvoke | OpComplete) and event.op in ops:
            began_ns = event.invoke_ns[:1] if isinstance(event, OpComplete) else []
            found += began_ns or [event.mono_ns]
    return found


def has_called(evidence: Evidence, process: str, span: Span, ops: Collection[str]) -> bool:
    """Return whether the application of a process called one of these in a period."""
    return any(span.begin_ns <= at_ns <= span.end_ns for at_ns in called_ns(evidence, process, ops))
