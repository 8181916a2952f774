"""Calling close() on a closed producer raises an error."""

from __future__ import annotations

from clients.reference.transport.kafka_producer import KafkaProducer
from clients.seeding.mutant import Mutant
from clients.seeding.variant import Variant


class Strict(KafkaProducer):
    """Requires an open producer in close()."""

    def close(self, timeout_s: float | None = None) -> None:
        self._must_be_open()
        super().close(timeout_s)


MUTANT = Mutant(
    "raises an error on a second close()",
    Variant(producer=Strict),
    caught_by=("delivery/flush_in_a_callback_is_refused",),
    breaks=("PRD-CLS-05",),
)
