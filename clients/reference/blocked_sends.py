"""Sends that must wait: for a topic's metadata, or for memory. The waiting is a value here, never a sleep.

One limit, max.block.ms, covers both waits (MET-14). A driver with threads blocks the caller until the send is settled;
a driver in virtual time looks at ``delivery`` when it likes.
"""

from __future__ import annotations

from dataclasses import dataclass

from clients.reference.buffer_pool import Grant, Waiter
from clients.reference.errors import SendError
from clients.reference.producer_batch import Callback, Headers, ProducerBatch, RecordMetadata


@dataclass(slots=True, eq=False)
class Delivery:
    """One record's fate: blocked at first perhaps, then in a batch or failed, in the end ``is_done``."""

    timestamp_ms: int
    batch: ProducerBatch | None = None
    index: int = 0
    failure: SendError | None = None

    @property
    def is_blocked(self) -> bool:
        return self.batch is None and self.failure is None

    @property
    def is_done(self) -> bool:
        """The result is known and the callbacks of the batch have run."""
        return self.failure is not None or (self.batch is not None and self.batch.is_published)

    @property
    def error(self) -> SendError | None:
        """Why the record was not acknowledged; None for a stored one, and for one that is not done."""
        return self.failure or (self.batch.error_of(self.index) if self.batch else None)

    @property
    def metadata(self) -> RecordMetadata:
        """Where the record is; only for a done delivery without error."""
        if self.batch is None or self.batch.result is None or self.error:
            raise ValueError("this record is not acknowledged")
        return self.batch.metadata_of(self.index, self.timestamp_ms)


@dataclass(slots=True)
class Outgoing:
    """A record on its way into a batch, with all that the way needs."""

    topic: str
    partition: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int
    callback: Callback | None
    size_bytes: int


@dataclass(slots=True, eq=False)
class BlockedSend:
    """A record that found no metadata or no memory; ``waiter`` is its place in the line for memory."""

    outgoing: Outgoing
    delivery: Delivery
    since_ms: int
    expires_ms: int
    seen_update: int
    waiter: Waiter | None = None
    grant: Grant | None = None

    def granted(self, grant: Grant) -> None:
        """Its turn has come; the record is appended in the next round, not within the pool's."""
        self.waiter, self.grant = None, grant
