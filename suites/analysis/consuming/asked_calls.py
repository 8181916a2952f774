"""The calls about partitions that the harness asked of each process, and how they ended. Pure views."""

from __future__ import annotations

from typing import Final, NamedTuple

from harness.model.contract import OpComplete
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
