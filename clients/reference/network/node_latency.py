"""For how long batches have been waiting for a node that takes none (NodeLatencyStats of KIP-794).

Told in each round of every node for which something is ready: whether it could take it. The time between the last
round that was ready and the last that could drain is how long the node keeps its partitions waiting.
"""

from __future__ import annotations


class NodeLatencies:
    """By node id; ``timeout_ms`` is partitioner.availability.timeout.ms, and 0 turns all of it off."""

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._ready_ms: dict[int, int] = {}
        self._drain_ms: dict[int, int] = {}

    def looked_at(self, node_id: int, now_ms: int, *, can_drain: bool) -> None:
        """Something is ready for a node, and it can take it, or cannot."""
        if self._timeout_ms <= 0:
            return
        self._ready_ms[node_id] = now_ms
        if can_drain or node_id not in self._drain_ms:
            self._drain_ms[node_id] = now_ms

    def is_slow(self, node_id: int) -> bool:
        """Has it kept batches waiting for longer than allowed? Then keyless records go elsewhere."""
        waited_ms = self._ready_ms.get(node_id, 0) - self._drain_ms.get(node_id, 0)
        return 0 < self._timeout_ms < waited_ms
