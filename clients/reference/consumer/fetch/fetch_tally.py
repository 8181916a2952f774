"""FetchTally: counts what is returned of one Fetch response, until none of it is left (FetchMetricsAggregator)."""

from __future__ import annotations

from collections import Counter

from clients.reference.consumer.calls import Clock
from clients.reference.consumer.fetch.completed_fetch import CompletedFetch
from clients.reference.telemetry.fetch_events import FetchConsumed
from clients.reference.telemetry.trace import Trace


class FetchTally:
    """Counts the response of a node with data of ``partitions`` partitions, each of which ends once."""

    def __init__(self, node_id: int, partitions: int, clock: Clock, trace: Trace) -> None:
        self._node_id, self._left = node_id, partitions
        self._clock, self._trace = clock, trace
        self._records, self._size_bytes = Counter[str](), Counter[str]()

    def add(self, ended: CompletedFetch) -> None:
        """Add a partition of which nothing is left."""
        topic = ended.partition[0]
        self._records[topic] += ended.records_read
        self._size_bytes[topic] += ended.bytes_read
        self._left -= 1
        if not self._left:
            self._trace(
                FetchConsumed(
                    at_ms=self._clock.now_ms,
                    node=self._node_id,
                    records=dict(self._records),
                    size_bytes=dict(self._size_bytes),
                )
            )
