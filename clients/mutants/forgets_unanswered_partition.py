"""A partition that is missing from a Produce response counts as stored."""

from __future__ import annotations

from clients.reference.common.requests import ClientResponse, PartitionResponse
from clients.reference.metadata.metadata import TopicPartition
from clients.reference.producer.producer import Components
from clients.reference.producer.sender import Batches, Sender
from clients.seeding.mutant import Mutant


class Assuming(Sender):
    """Adds a success for each partition that the response does not contain."""

    def _answers(
        self, batches: Batches, response: ClientResponse, now_ms: int
    ) -> dict[TopicPartition, PartitionResponse]:
        answers = super()._answers(batches, response, now_ms)
        return {partition: PartitionResponse(*partition, 0) for partition in batches} | answers


MUTANT = Mutant(
    "counts a partition as stored if the response does not contain it",
    Components(sender=Assuming),
    caught_by=("delivery/a_partition_without_an_answer_is_not_stored",),
    breaks=("PRD-SND-05",),
)
