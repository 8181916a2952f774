"""A record on its way: what has become of it, and, where it must wait, what is to be sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from clients.reference.errors import SendError
from clients.reference.producer.producer_batch import (
    Callback,
    Headers,
    ProducerBatch,
    RecordMetadata,
)


class Delivery(msgspec.Struct, eq=False):
    """One record's fate: blocked at first perhaps, then in a batch or failed, in the end ``is_done``.

    One is made per record, so it is a struct that C makes. ``owner`` is the driver's, for futures of its own.
    """

    timestamp_ms: int
    batch: ProducerBatch | None = None
    index: int = 0
    failure: SendError | None = None
    owner: Any = None

    @property
    def is_blocked(self) -> bool:
        """Still waiting for metadata or memory: no batch has the record yet."""
        return self.batch is None and self.failure is None

    @property
    def is_done(self) -> bool:
        """The result is known and the callbacks of the batch have run."""
        batch = self._place()[0]
        return self.failure is not None or (batch is not None and batch.is_published)

    @property
    def error(self) -> SendError | None:
        """Why the record was not acknowledged; None for a stored one, and for one that is not done."""
        batch, index = self._place()
        return self.failure or (batch.error_of(index) if batch else None)

    @property
    def metadata(self) -> RecordMetadata:
        """Where the record is; raises ValueError unless it is done and was acknowledged."""
        batch, index = self._place()
        if batch is None or batch.result is None or self.error:
            raise ValueError("this record is not acknowledged")
        return batch.metadata_of(index, self.timestamp_ms)

    def _place(self) -> tuple[ProducerBatch | None, int]:
        """The batch that the record is in now: a batch that was split lives on in its parts (PRD-SPL-06)."""
        batch, index = self.batch, self.index
        while batch is not None and batch.parts:
            first, part = next(each for each in reversed(batch.parts) if each[0] <= index)
            batch, index = part, index - first
        return batch, index


@dataclass(slots=True, eq=False)
class Outgoing:
    """A record that is not in a batch yet, with all that it takes to put it there; ``size_bytes`` is a bound.

    ``raw`` are key and value before they were serialized, for a partitioner of the application's.
    """

    topic: str
    partition: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int
    callback: Callback | None
    size_bytes: int
    delivery: Delivery
    raw: tuple[Any, Any] | None = None
