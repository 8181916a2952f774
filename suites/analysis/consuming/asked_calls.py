"""The calls about partitions that the harness asked of each process, and how they ended. Pure views."""

from __future__ import annotations

from typing import Final, NamedTuple

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
    begun: dict[tuple[str, str], list[OpInvoke]] = {}
    ended: dict[tuple[str, int], OpComplete] = {}
    for event in evidence.history:
        process = str(event.producer)
        match event:
            case MemberCalled(op=op):
                asked.setdefault((process, op), []).append(event)
            case OpInvoke(op=op) if op in OPS:
                begun.setdefault((process, op), []).append(event)
            case OpComplete(op=op) if op in OPS:
                ended[process, event.id] = event
    found = [
        PartitionCall(
            process, op, at.partition, begin.mono_ns, end.mono_ns, end.error[0] if end.error else None
        )
        for (process, op), calls in asked.items()
        for call, begin in zip(calls, begun.get((process, op), ()), strict=False)
        for at in call.positions
        if at.topic == evidence.record.topic and (end := ended.get((process, begin.id))) is not None
    ]
    return sorted(found, key=lambda each: each.begin_ns)
