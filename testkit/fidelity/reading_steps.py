"""The elements of plans that read logs: Fetch in and out of sessions, offsets by time, ends of epochs, transactions.

Offsets and leader epochs are absolute, because both sides begin with empty logs. A session and a transaction have the
plan's own names.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from testkit.fidelity.targets import LEADER, LONG_WAIT_MS


class SessionEpoch(StrEnum):
    """The session and the epoch that a Fetch sends (KIP-227)."""

    NONE = "no session"
    BEGIN = "begin a session"
    NEXT = "the next epoch"
    REPEATED = "the epoch before"
    SKIPPED = "the epoch after the next"
    CLOSE = "close the session"
    RENEW = "begin a session in place of this one"
    UNKNOWN_ID = "an id that no session has"


@dataclass(frozen=True, slots=True)
class FetchPart:
    """A partition to read. An epoch of -1 is none."""

    topic: str
    partition: int
    offset: int
    max_bytes: int = 1_048_576
    leader_epoch: int = -1
    last_fetched_epoch: int = -1


@dataclass(frozen=True, slots=True)
class Fetch:
    """A Fetch. With ``max_wait_ms`` of LONG_WAIT_MS, the plan continues while it waits."""

    version: int
    parts: tuple[FetchPart, ...]
    min_bytes: int = 0
    max_bytes: int = 50_000_000
    max_wait_ms: int = 0
    committed: bool = False
    session: str | None = None
    session_epoch: SessionEpoch = SessionEpoch.NONE
    forgotten: tuple[tuple[str, int], ...] = ()
    node: int = LEADER

    @property
    def may_wait(self) -> bool:
        """True if later steps are played while it waits."""
        return self.max_wait_ms >= LONG_WAIT_MS


@dataclass(frozen=True, slots=True)
class OffsetAsked:
    """A partition of ListOffsets. ``timestamp_ms`` from 0 on is an age; below 0 it is one of the special values."""

    topic: str
    partition: int
    timestamp_ms: int
    leader_epoch: int = -1


@dataclass(frozen=True, slots=True)
class ListOffsets:
    version: int
    parts: tuple[OffsetAsked, ...]
    committed: bool = False
    node: int = LEADER


@dataclass(frozen=True, slots=True)
class EpochAsked:
    """A partition of OffsetForLeaderEpoch."""

    topic: str
    partition: int
    epoch: int
    leader_epoch: int = -1


@dataclass(frozen=True, slots=True)
class OffsetForLeaderEpoch:
    version: int
    parts: tuple[EpochAsked, ...]
    node: int = LEADER


@dataclass(frozen=True, slots=True)
class Transact:
    """Append ``count`` records within transaction ``transaction``, which begins with its first batch."""

    transaction: str
    topic: str
    partition: int
    count: int
    tag: str


@dataclass(frozen=True, slots=True)
class EndTransaction:
    """End a transaction, and wait for its markers."""

    transaction: str
    commit: bool


ReadingStep = Fetch | ListOffsets | OffsetForLeaderEpoch | Transact | EndTransaction
