"""The new leader that a refusal names is not adopted: the client waits for a Metadata answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from clients.reference.metadata.metadata import Metadata, TopicPartition
from clients.reference.ports import Node
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Deaf(Metadata):
    """Learns from Metadata answers alone."""

    def update_partition_leadership(
        self, leaders: Mapping[TopicPartition, tuple[int, int]], nodes: Iterable[Node], now_ms: int
    ) -> set[TopicPartition]:
        return set()


MUTANT = Mutant(
    "does not go to the new leader that a refusal names",
    Components(metadata=Deaf),
    caught_by=(
        "state_transitions/NewsOfTheClusterIsBelievedWhenItIsNewer",
        "delivery/a_named_leader_is_followed_at_once",
    ),
    breaks=("MET-09",),
)
