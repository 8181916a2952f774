"""The values of positions: where a partition is read, and what is committed about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from clients.reference.common.group_offsets import OffsetAndMetadata
from clients.reference.metadata.topic_metadata import TopicPartition

__all__ = [
    "BEGINNING",
    "END",
    "NO_LEADER",
    "FetchPosition",
    "LeaderAndEpoch",
    "LogTruncation",
    "OffsetAndMetadata",
    "TopicPartition",
]

#: The two offsets that ListOffsets knows by name.
BEGINNING, END = "earliest", "latest"


class LeaderAndEpoch(NamedTuple):
    """A partition's leader by node id, and its epoch. None is unknown."""

    node_id: int | None = None
    epoch: int | None = None


NO_LEADER = LeaderAndEpoch()


@dataclass(frozen=True, slots=True)
class FetchPosition:
    """The next offset to read, the leader epoch of the record before it, and the leader that is asked for it."""

    offset: int
    offset_epoch: int | None = None
    leader: LeaderAndEpoch = NO_LEADER


@dataclass(frozen=True, slots=True)
class LogTruncation:
    """The leader's log ends before ``position``, or differs from what was read.

    ``divergent`` is the first offset that differs and its epoch, or None if the leader does not know.
    """

    partition: TopicPartition
    position: FetchPosition
    divergent: tuple[int, int | None] | None
