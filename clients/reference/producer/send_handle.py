"""A record being sent: its state and result, and, if it must wait, its content."""

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
    """The state of one record: perhaps blocked at first, then in a batch or failed, and finally ``is_done``.

    One is created per record, so it is a struct that C code creates. ``owner`` belongs to the driver, for its own
    futures.
    """

    timestamp_ms: int
    batch: ProducerBatch | None = None
    index: int = 0
    failure: SendError | None = None
    owner: Any = None

    @property
    def is_blocked(self) -> bool:
        """Whether the record still waits for metadata or memory, and is not in a batch."""
        return self.batch is None and self.failure is None

    @property
    def is_done(self) -> bool:
        """Whether the result is known and the callbacks of the batch have run."""
        batch = self._place()[0]
        return self.failure is not None or (batch is not None and batch.is_published)

    @property
    def error(self) -> SendError | None:
        """Why the record was not acknowledged. None if it was stored, or is not done."""
        batch, index = self._place()
        return self.failure or (batch.error_of(index) if batch else None)

    @property
    def metadata(self) -> RecordMetadata:
        """Where the record was stored. Raises ValueError unless it is done and was acknowledged."""
        batch, index = self._place()
        if batch is None or batch.result is None or self.error:
            raise ValueError("this record is not acknowledged")
        return batch.metadata_of(index, self.timestamp_ms)

    def _place(self) -> tuple[ProducerBatch | None, int]:
        """Return the batch that currently contains the record: after a split, one of the parts (PRD-SPL-06)."""
        batch, index = self.batch, self.index
        while batch is not None and batch.parts:
            first, part = next(each for each in reversed(batch.parts) if each[0] <= index)
            batch, index = part, index - first
        return batch, index


@dataclass(slots=True, eq=False)
class Outgoing:
    """A record that is not in a batch yet, with all that is needed to add it. ``size_bytes`` is an upper bound."""

    topic: str
    partition: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int
    callback: Callback | None
    size_bytes: int
    delivery: Delivery
