"""close() of a closed producer is an error."""

from __future__ import annotations

from clients.mutants.variant import Variant
from clients.reference.transport.kafka_producer import KafkaProducer


class Strict(KafkaProducer):
    """Must be open to be closed."""

    def close(self, timeout_s: float | None = None) -> None:
        self._must_be_open()
        super().close(timeout_s)


COMPONENTS = Variant(producer=Strict)
