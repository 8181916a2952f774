"""How long batches have been waiting for a node that does not accept requests (NodeLatencyStats of KIP-794).

In each round, the sender reports for each node with ready batches whether it could send to it. The time from the last
round in which it could to the last round with ready batches is how long the node keeps its partitions waiting.
"""

from __future__ import annotations


class NodeLatencies:
    """Latencies by node id. ``timeout_ms`` is partitioner.availability.timeout.ms, and 0 disables them."""

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._ready_ms: dict[int, int] = {}
        self._drain_ms: dict[int, int] = {}

    def looked_at(self, node_id: int, now_ms: int, *, can_drain: bool) -> None:
        """Record that batches are ready for a node, and whether they can be sent to it."""
        if self._timeout_ms <= 0:
            return
        self._ready_ms[node_id] = now_ms
        if can_drain or node_id not in self._drain_ms:
            self._drain_ms[node_id] = now_ms

    def is_slow(self, node_id: int) -> bool:
        """Return whether batches have waited longer than the timeout. Keyless records then avoid the node."""
        waited_ms = self._ready_ms.get(node_id, 0) - self._drain_ms.get(node_id, 0)
        return 0 < self._timeout_ms < waited_ms
