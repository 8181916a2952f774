"""If one partition is refused, the whole request fails: the other partitions get the same error."""

from __future__ import annotations

from clients.reference.common.requests import ClientResponse, PartitionResponse
from clients.reference.metadata.metadata import TopicPartition
from clients.reference.producer.producer import Components
from clients.reference.producer.sender import Batches, Sender
from clients.seeding.mutant import Mutant


class Collective(Sender):
    """Gives every partition the worst error of the response."""

    def _answers(
        self, batches: Batches, response: ClientResponse, now_ms: int
    ) -> dict[TopicPartition, PartitionResponse]:
        answers = super()._answers(batches, response, now_ms)
        worst = max(answers.values(), key=lambda answer: answer.error_code, default=None)
        return answers if worst is None or not worst.error_code else dict.fromkeys(answers, worst)


MUTANT = Mutant(
    "fails a whole request if one of its partitions is refused",
    Components(sender=Collective),
    caught_by=("delivery/a_partition_answers_for_itself",),
    breaks=("PRD-SND-04",),
)
