"""A leader that a refusal names is adopted even if a newer one is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from clients.reference.metadata.metadata import Metadata, TopicPartition
from clients.reference.ports import Node
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Adopting(Metadata):
    """Forgets which leader is newer before it listens."""

    def update_partition_leadership(
        self, leaders: Mapping[TopicPartition, tuple[int, int]], nodes: Iterable[Node], now_ms: int
    ) -> set[TopicPartition]:
        self._epochs = self.leader_epochs()
        return super().update_partition_leadership(leaders, nodes, now_ms)


MUTANT = Mutant(
    "adopts a leader from a refusal even if a newer one is known",
    Components(metadata=Adopting),
    caught_by=("state_transitions/NewsOfTheClusterIsBelievedWhenItIsNewer",),
    breaks=("MET-09",),
)
