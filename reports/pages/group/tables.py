"""The members and partitions of a group in numbers: what its figure shows, for reading and for screen readers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from harness.judging.availability import Span
from reports.pages.group.members import Member
from reports.pages.group.offsets import Partition
from reports.pages.group.ownership import Owned, Piece, pieces
from reports.pages.group.story import MAX_OWNERSHIPS, Story

#: How many owners of a partition are named, one after the other.
MAX_NAMED = 12


@dataclass(frozen=True)
class MemberRow:
    """One process. Times are ms since load began. ``generations`` are how many it was in, and the last one."""

    process: str
    client: str
    began_ms: float
    ended: str
    ended_ms: float | None
    generations: tuple[int, int | None]
    joining_ms: float
    frozen_ms: float
    records: int
    committed: int
    failed: int


@dataclass(frozen=True)
class PartitionRow:
    """One partition. ``shared_ms`` is how long it had two owners, and ``lag`` the largest, with its time in ms.

    ``again`` counts the records that were delivered although the group had been given them, or a later one.
    """

    number: int
    owners: str
    shared_ms: float
    written: int
    position: int
    lag: tuple[int, float]
    again: int
    committed: int
    failed: int
    stored: int | None


def member_rows(story: Story) -> list[MemberRow]:
    """Return the processes that are shown, in the order of their start."""
    return [_member(each, story) for each in story.rows]


def _member(member: Member, story: Story) -> MemberRow:
    turns = [turn for of in story.partitions for turn in of.turns if turn.process == member.process]
    made = [each.success for of in story.partitions for each in of.commits if each.process == member.process]
    told = member.generations
    return MemberRow(
        process=member.process,
        client=member.companion,
        began_ms=story.axis.ms(member.begin_ns),
        ended=member.ended,
        ended_ms=None if member.end_ns is None else story.axis.ms(member.end_ns),
        generations=(len(told), told[-1][1] if told else None),
        joining_ms=_length_ms(member.joining),
        frozen_ms=_length_ms(member.frozen),
        records=sum(turn.records for turn in turns),
        committed=sum(made),
        failed=len(made) - sum(made),
    )


def _length_ms(spans: Iterable[Span]) -> float:
    return sum(span.end_ns - span.begin_ns for span in spans) / 1e6


def partition_rows(story: Story) -> list[PartitionRow]:
    """Return the partitions that are shown, by number."""
    owned: dict[int, list[Owned]] = {}
    for each in story.ownerships:
        owned.setdefault(each.partition, []).append(each)
    shared: dict[int, list[Piece]] = {}
    for piece in pieces(story.ownerships[:MAX_OWNERSHIPS]):
        if piece.is_shared:
            shared.setdefault(piece.partition, []).append(piece)
    return [
        _partition(each, owned.get(each.number, []), shared.get(each.number, []), story)
        for each in story.shown
    ]


def _partition(
    partition: Partition, owned: Sequence[Owned], shared: Sequence[Piece], story: Story
) -> PartitionRow:
    changes = partition.changes()
    worst = max(changes, key=lambda each: each.lag, default=None)
    owners = [process for process, _ in groupby(each.process for each in owned)]
    named = " → ".join(owners[:MAX_NAMED])
    left = len(owners) - MAX_NAMED
    made = [each.success for each in partition.commits]
    return PartitionRow(
        number=partition.number,
        owners=named + (f" and {left:,} more" if left > 0 else ""),
        shared_ms=_length_ms(Span(each.begin_ns, each.end_ns) for each in shared),
        written=changes[-1].end if changes else 0,
        position=changes[-1].position if changes else 0,
        lag=(worst.lag, story.axis.ms(worst.at_ns)) if worst else (0, 0.0),
        again=sum(turn.again for turn in partition.turns),
        committed=sum(made),
        failed=len(made) - sum(made),
        stored=partition.stored,
    )
