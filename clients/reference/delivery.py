"""A record on its way: what is to be sent, and what has become of it."""

from __future__ import annotations

from dataclasses import dataclass

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
        """Where the record is; raises ValueError unless it is done and was acknowledged."""
        if self.batch is None or self.batch.result is None or self.error:
            raise ValueError("this record is not acknowledged")
        return self.batch.metadata_of(self.index, self.timestamp_ms)


@dataclass(slots=True, eq=False)
class Outgoing:
    """A record that is not in a batch yet, with all that it takes to put it there; ``size_bytes`` is a bound."""

    topic: str
    partition: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int
    callback: Callback | None
    size_bytes: int
    delivery: Delivery
