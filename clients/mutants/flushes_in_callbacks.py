"""flush() may be called in a callback, where it waits for itself."""

from __future__ import annotations

from clients.mutants.variant import Variant
from clients.reference.transport.kafka_producer import KafkaProducer


class Trusting(KafkaProducer):
    """Does not look at which thread calls it."""

    def _must_not_wait(self, method: str) -> None:
        pass


COMPONENTS = Variant(producer=Trusting)
