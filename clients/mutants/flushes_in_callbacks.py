"""flush() is allowed in a callback, where it waits for itself."""

from __future__ import annotations

from clients.reference.transport.kafka_producer import KafkaProducer
from clients.seeding.mutant import Mutant
from clients.seeding.variant import Variant


class Trusting(KafkaProducer):
    """Does not check which thread calls it."""

    def _must_not_wait(self, method: str) -> None:
        pass


MUTANT = Mutant(
    "allows flush() in a callback, where it waits for itself",
    Variant(producer=Trusting),
    caught_by=("delivery/flush_in_a_callback_is_refused",),
    breaks=("PRD-CLS-02",),
)
