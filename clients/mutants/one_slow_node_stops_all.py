"""Nothing goes to any broker while one with something to send is not ready."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.sender import Sender


class AllOrNothing(Sender):
    """Waits until every node can be sent to."""

    def _usable_nodes(self, nodes: set[int], now_ms: int) -> tuple[list[int], int | None]:
        sendable, later_ms = super()._usable_nodes(nodes, now_ms)
        return (sendable if len(sendable) == len(nodes) else []), later_ms


COMPONENTS = Components(sender=AllOrNothing)
