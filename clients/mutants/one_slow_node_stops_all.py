"""The client sends nothing to any broker while one that has batches waiting is not ready."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant


class AllOrNothing(Sender):
    """Waits until every node is ready."""

    def _usable_nodes(self, nodes: set[int], now_ms: int) -> tuple[list[int], int | None]:
        sendable, later_ms = super()._usable_nodes(nodes, now_ms)
        return (sendable if len(sendable) == len(nodes) else []), later_ms


MUTANT = Mutant(
    "sends nothing to any broker while one of them cannot take its batches",
    Components(sender=AllOrNothing),
    caught_by=("delivery/a_slow_broker_holds_up_its_own_partitions_alone",),
    breaks=("PRD-ACC-13",),
)
