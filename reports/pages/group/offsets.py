"""How far a group was in each partition: what was written, what was delivered, and what was committed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from harness.model.consumer_contract import OffsetsCommitted, RecordsConsumed
from harness.model.evidence import Evidence
from harness.model.harness_events import GroupCommitted, RecordsWritten


class Turn(NamedTuple):
    """One turn of a member: at ``at_ns`` it took ``records`` of a partition, from offset ``first`` to before ``next``.

    ``again`` of them lie below an offset that the group had been given before.
    """

    at_ns: int
    process: str
    first: int
    next: int
    records: int
    again: int


class Commit(NamedTuple):
    """One partition of one commit, when its result came. ``error`` is empty if it succeeded."""

    at_ns: int
    process: str
    offset: int
    success: bool
    how: str
    error: str


class Change(NamedTuple):
    """The end of the log and the position of the group from ``at_ns`` on. The lag is their difference."""

    at_ns: int
    end: int
    position: int

    @property
    def lag(self) -> int:
        return max(0, self.end - self.position)


@dataclass
class Partition:
    """One partition. ``stored`` is the offset that the coordinator has after the trial; None if it was not asked."""

    number: int
    written: list[tuple[int, int]] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    stored: int | None = None

    @property
    def last(self) -> int:
        """The largest offset that is written, delivered or committed, at least 1."""
        ends = [end for _, end in self.written], [turn.next for turn in self.turns]
        return max(1, *(max(each, default=0) for each in ends), *(each.offset for each in self.commits))

    def changes(self) -> list[Change]:
        """Return end and position, each time that one of them changed. A turn that goes back changes it twice."""
        steps = [(at_ns, 0, end) for at_ns, end in self.written]
        for turn in self.turns:
            steps += [(turn.at_ns, 1, turn.first), (turn.at_ns, 1, turn.next)]
        end = position = 0
        found = []
        for at_ns, is_position, offset in sorted(steps, key=lambda step: step[0]):
            end, position = (end, offset) if is_position else (max(end, offset), position)
            found.append(Change(at_ns, max(end, position), position))
        return found


def partitions(evidence: Evidence) -> list[Partition]:
    """Return the partitions of the trial's topic, by their number."""
    topic = evidence.record.topic
    found = {number: Partition(number) for number in range(evidence.record.spec.workload.partitions)}

    def of(number: int) -> Partition:
        return found.setdefault(number, Partition(number))

    for event in sorted(evidence.history, key=lambda each: each.mono_ns):
        process = str(event.producer or "")
        match event:
            case RecordsWritten():
                for number, offset in zip(event.partitions, event.offsets, strict=True):
                    of(number).written.append((event.mono_ns, offset + 1))
            case OffsetsCommitted():
                for at in event.offsets:
                    if at.topic == topic:
                        commit = Commit(
                            event.complete_ns, process, at.offset, event.success, event.how, event.error or ""
                        )
                        of(at.partition).commits.append(commit)
            case GroupCommitted():
                for at in event.offsets:
                    if at.topic == topic:
                        of(at.partition).stored = at.offset
            case _:
                pass
    for number, turns in _turns(evidence).items():
        of(number).turns = turns
    for each in found.values():
        each.written = _ends(each.written)
    return [each for _, each in sorted(found.items())]


def _ends(written: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the end after each time that records were written."""
    ends = dict[int, int]()
    for at_ns, end in written:
        ends[at_ns] = max(ends.get(at_ns, 0), end)
    return list(ends.items())


def _turns(evidence: Evidence) -> dict[int, list[Turn]]:
    """Return partition -> the turns that took some of its records, in the order in which they took them."""
    found: dict[int, list[Turn]] = {}
    furthest: dict[int, int] = {}
    events = [event for event in evidence.history if isinstance(event, RecordsConsumed)]
    for event in sorted(events, key=lambda each: each.polled_ns):
        for part in event.partitions:
            if part.topic == evidence.record.topic and part.offsets:
                before = furthest.get(part.partition, 0)
                again = sum(offset < before for offset in part.offsets)
                process = str(event.producer or "")
                first, end = part.offsets[0], part.offsets[-1] + 1
                turn = Turn(event.polled_ns, process, first, end, len(part.offsets), again)
                found.setdefault(part.partition, []).append(turn)
                furthest[part.partition] = max(before, *(offset + 1 for offset in part.offsets))
    return found
