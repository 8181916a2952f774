"""Records without a key stay in the partition that was chosen first."""

from __future__ import annotations

from clients.reference.producer.partitioner import Partitioner
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Settled(Partitioner):
    """Does not count appended bytes."""

    def appended(self, topic: str, key: bytes | None, size_bytes: int) -> None:
        """Do nothing."""


MUTANT = Mutant(
    "sends all records without a key to the partition that was chosen first",
    Components(partitioner=Settled),
    caught_by=("delivery/keyless_records_fill_a_batch_before_they_move",),
    breaks=("PRD-ISP-07",),
)
