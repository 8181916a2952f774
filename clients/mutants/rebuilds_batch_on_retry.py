"""A retried batch is rebuilt, and its records have later timestamps."""

from __future__ import annotations

from dataclasses import replace

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.seeding.mutant import Mutant
from clients.seeding.rebuilt import rebuilt


class Rebuilding(ProducerBatch):
    """Moves the timestamps forward each time the batch is queued for a retry."""

    def reenqueued(self, now_ms: int, retry_at_ms: int) -> None:
        super().reenqueued(now_ms, retry_at_ms)
        self._payload = rebuilt(
            self._payload,
            lambda records: [replace(record, timestamp_ms=record.timestamp_ms + 1) for record in records],
        )


MUTANT = Mutant(
    "rebuilds a batch with later timestamps for each retry",
    Components(batch=Rebuilding),
    caught_by=(
        "state_transitions/BatchesGoWhenTheyMayAndInOrder",
        "delivery/what_was_sent_is_stored_and_told",
    ),
    breaks=("PRD-SND-02",),
)
