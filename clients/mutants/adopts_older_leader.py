"""The client adopts the leader that an error response names even if it knows a newer leader."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from clients.reference.metadata.metadata import Metadata, TopicPartition
from clients.reference.ports import Node
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Adopting(Metadata):
    """Forgets the known leader epochs before each update from an error response."""

    def update_partition_leadership(
        self, leaders: Mapping[TopicPartition, tuple[int, int]], nodes: Iterable[Node], now_ms: int
    ) -> set[TopicPartition]:
        self._epochs = self.leader_epochs()
        return super().update_partition_leadership(leaders, nodes, now_ms)


MUTANT = Mutant(
    "adopts the leader that an error response names even if it knows a newer one",
    Components(metadata=Adopting),
    caught_by=("state_transitions/NewsOfTheClusterIsBelievedWhenItIsNewer",),
    breaks=("MET-09",),
)
