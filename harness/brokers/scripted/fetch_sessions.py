"""Fetch sessions: a broker remembers what a client reads, and answers only what changed (KIP-227, ``FetchSession``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from uuid import UUID

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
MAX_SESSIONS: Final = 1000
EVICTION_MS: Final = 120_000
_LAST_EPOCH: Final = 2**31 - 1

PartitionKey = tuple[UUID | str, int]
"""A partition as the client names it: by the topic's id or by its name, and by its index."""


class Wanted(NamedTuple):
    """What a client reads from a partition. An epoch of -1 is none."""

    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int
    last_fetched_epoch: int


@dataclass(slots=True)
class CachedPartition:
    """A partition of a session, and what the client knows of it. ``name`` is known once the topic was found."""

    wanted: Wanted
    name: str | None = None
    high_watermark: int = -1
    log_start_offset: int = -1


@dataclass(slots=True)
class FetchSession:
    """A session. ``epoch`` is that of the client's next request."""

    session_id: int
    uses_topic_ids: bool
    created_ms: int
    last_used_ms: int
    epoch: int = INITIAL_EPOCH + 1
    partitions: dict[PartitionKey, CachedPartition] = field(default_factory=dict)

    def update(self, wanted: Mapping[PartitionKey, Wanted], forgotten: Iterable[PartitionKey]) -> None:
        """Apply the changes of a request."""
        for key, each in wanted.items():
            known = self.partitions.get(key)
            if known is None:
                self.partitions[key] = CachedPartition(each)
            else:
                known.wanted = each
        for key in forgotten:
            self.partitions.pop(key, None)

    def advance(self) -> None:
        """Expect the next epoch. After the last one comes 1, because 0 would begin a session."""
        self.epoch = next_epoch(self.epoch)

    def is_news(
        self, key: PartitionKey, high_watermark: int, log_start_offset: int, *, is_urgent: bool
    ) -> bool:
        """Return whether a partition is part of the response, and remember what the client then knows.

        ``is_urgent``: it has records, an error, or a preferred replica.
        """
        known = self.partitions[key]
        is_new = known.high_watermark != high_watermark or known.log_start_offset != log_start_offset
        known.high_watermark, known.log_start_offset = high_watermark, log_start_offset
        return is_new or is_urgent

    def move_to_end(self, key: PartitionKey) -> None:
        """Let every other partition come first next time, so that none starves."""
        self.partitions[key] = self.partitions.pop(key)


class FetchSessions:
    """The sessions of one broker. They are lost when it stops."""

    def __init__(self, max_sessions: int = MAX_SESSIONS) -> None:
        self.max_sessions = max_sessions
        self.by_id: dict[int, FetchSession] = {}

    def create(self, session_id: int, uses_topic_ids: bool, size: int, now_ms: int) -> FetchSession | None:
        """Return a new session, or None if there is no room: then the client has to send every request in full."""
        if len(self.by_id) >= self.max_sessions and not self._evict(size, now_ms):
            return None
        session = self.by_id[session_id] = FetchSession(session_id, uses_topic_ids, now_ms, now_ms)
        return session

    def _evict(self, size: int, now_ms: int) -> bool:
        """Remove a session that was not used for long, or else an old one with fewer partitions than ``size``."""
        oldest = min(self.by_id.values(), key=lambda each: (each.last_used_ms, each.session_id), default=None)
        if oldest is None:
            return False
        if now_ms - oldest.last_used_ms <= EVICTION_MS:
            old = [each for each in self.by_id.values() if each.last_used_ms - each.created_ms > EVICTION_MS]
            oldest = min(old, key=lambda each: (len(each.partitions), each.session_id), default=None)
            if oldest is None or len(oldest.partitions) >= size:
                return False
        del self.by_id[oldest.session_id]
        return True


def next_epoch(epoch: int) -> int:
    """Return the epoch of the request after that one."""
    return 1 if epoch == _LAST_EPOCH else epoch + 1
