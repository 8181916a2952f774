"""A record without a value is stored with an empty value."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import Callback, Headers, ProducerBatch
from clients.seeding.mutant import Mutant


class Filling(ProducerBatch):
    """Replaces null by an empty value."""

    def append(
        self,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        callback: Callback | None,
    ) -> int:
        return super().append(timestamp_ms, key, value or b"", headers, callback)


MUTANT = Mutant(
    "stores an empty value instead of null",
    Components(batch=Filling),
    caught_by=("delivery/what_was_sent_is_stored_and_told",),
    breaks=("PRD-ISP-08",),
)
