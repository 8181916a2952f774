"""position() waits until brokers answer, whatever its limit is."""

from __future__ import annotations

from clients.reference.consumer.calls import Call
from clients.reference.consumer.consumer import ConsumerCore
from clients.reference.consumer.subscription.positions import TopicPartition
from clients.seeding.consumer_variant import ConsumerVariant
from clients.seeding.mutant import Mutant

LONG_MS = 15_000


class Patient(ConsumerCore):
    """Adds time to each limit of position()."""

    def position(self, partition: TopicPartition, timeout_ms: int | None = None) -> Call[int]:
        limit_ms = self._config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        return (yield from super().position(partition, limit_ms + LONG_MS))


MUTANT = Mutant(
    "waits for a position without limit",
    ConsumerVariant(core=Patient),
    caught_by=("timeout_expiry/a_blocking_call_ends_by_its_limit",),
    breaks=("CSM-API-04",),
)
