"""A batch that expires fails with a timeout that names neither records nor partition nor time."""

from __future__ import annotations

from clients.reference.errors import SendError, TimeoutError
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Curt(Sender):
    """Says that time is over."""

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
    "fails expired batches without saying how many records, where and how long",
    Components(sender=Curt),
    caught_by=("timeout_expiry/every_record_has_a_result_in_time",),
    breaks=("PRD-EXP-02",),
)
