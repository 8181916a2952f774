"""A batch that expires fails with a timeout error without a record count, a partition or a duration."""

from __future__ import annotations

from clients.reference.errors import SendError, TimeoutError
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Curt(Sender):
    """Replaces the message of a timeout."""

    def _finish_badly(
        self,
        batch: ProducerBatch,
        error: KafkaError,
        failure: SendError,
        now_ms: int,
        record_errors: dict[int, SendError] | None = None,
    ) -> None:
        if isinstance(failure, TimeoutError):
            failure = TimeoutError("batch-expired", "timed out", outcome=failure.outcome)
        super()._finish_badly(batch, error, failure, now_ms, record_errors)


MUTANT = Mutant(
    "fails expired batches without reporting how many records, which partition and how long",
    Components(sender=Curt),
    caught_by=("timeout_expiry/every_record_has_a_result_in_time",),
    breaks=("PRD-EXP-02",),
)
