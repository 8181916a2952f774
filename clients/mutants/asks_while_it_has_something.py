"""A broker is asked for more while its last answer waits for the application."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.seeding.mutant import READS, Mutant


class Greedy(Fetcher):
    """Always wants more."""

    def send_fetches(self, now_ms: int) -> int:
        busy, buffered = self._nodes_with_pending, self._buffer.buffered_partitions
        self._buffer.buffered_partitions = set  # type: ignore[method-assign]
        self._nodes_with_pending = set()
        try:
            return super().send_fetches(now_ms)
        finally:
            self._buffer.buffered_partitions = buffered  # type: ignore[method-assign]
            self._nodes_with_pending |= busy


MUTANT = Mutant(
    "fetches from a broker whose last answer is still buffered",
    Components(fetcher=Greedy),
    caught_by=("delivery/one_fetch_is_under_way_to_a_broker", "fetches-at-a-time"),
    breaks=("CSM-FET-01",),
    scenarios=READS,
)
