"""A partition that a Produce response leaves out counts as stored."""

from __future__ import annotations

from clients.reference.common.requests import ClientResponse, PartitionResponse
from clients.reference.metadata.metadata import TopicPartition
from clients.reference.producer.producer import Components
from clients.reference.producer.sender import Batches, Sender


class Assuming(Sender):
    """Takes silence for consent."""

    def _answers(
        self, batches: Batches, response: ClientResponse, now_ms: int
    ) -> dict[TopicPartition, PartitionResponse]:
        answers = super()._answers(batches, response, now_ms)
        return {partition: PartitionResponse(*partition, 0) for partition in batches} | answers


COMPONENTS = Components(sender=Assuming)
