"""One partition that is refused fails the whole request: its neighbours get the same error."""

from __future__ import annotations

from clients.reference.common.requests import ClientResponse, PartitionResponse
from clients.reference.metadata.metadata import TopicPartition
from clients.reference.producer.producer import Components
from clients.reference.producer.sender import Batches, Sender
from clients.seeding.mutant import Mutant


class Collective(Sender):
    """Makes the worst answer that of all."""

    def _answers(
        self, batches: Batches, response: ClientResponse, now_ms: int
    ) -> dict[TopicPartition, PartitionResponse]:
        answers = super()._answers(batches, response, now_ms)
        worst = max(answers.values(), key=lambda answer: answer.error_code, default=None)
        return answers if worst is None or not worst.error_code else dict.fromkeys(answers, worst)


MUTANT = Mutant(
    "fails a whole request where one partition is refused",
    Components(sender=Collective),
    caught_by=("delivery/a_partition_answers_for_itself",),
    breaks=("PRD-SND-04",),
)
