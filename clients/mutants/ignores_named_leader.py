"""The client does not adopt the new leader that an error response names, and waits for a Metadata response."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from clients.reference.metadata.metadata import Metadata, TopicPartition
from clients.reference.ports import Node
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Deaf(Metadata):
    """Ignores leaders that error responses name."""

    def update_partition_leadership(
        self, leaders: Mapping[TopicPartition, tuple[int, int]], nodes: Iterable[Node], now_ms: int
    ) -> set[TopicPartition]:
        return set()


MUTANT = Mutant(
    "does not adopt the new leader that an error response names",
    Components(metadata=Deaf),
    caught_by=(
        "state_transitions/NewsOfTheClusterIsBelievedWhenItIsNewer",
        "delivery/a_named_leader_is_followed_at_once",
    ),
    breaks=("MET-09",),
)
