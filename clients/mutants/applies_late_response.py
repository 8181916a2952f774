"""An answer that comes after a batch has failed makes it a success: the application was told otherwise."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import BatchResult, ProducerBatch
from clients.seeding.mutant import Mutant


class Reconsidering(ProducerBatch):
    """Takes the last word for the last state."""

    def succeed(self, base_offset: int, log_append_time_ms: int, now_ms: int) -> bool:
        super().succeed(base_offset, log_append_time_ms, now_ms)
        self.result = BatchResult(base_offset, log_append_time_ms)
        return True


MUTANT = Mutant(
    "makes a failed batch a success when its answer comes late",
    Components(batch=Reconsidering),
    caught_by=(
        "state_transitions/a_batch_takes_one_final_state",
        "timeout_expiry/what_was_given_up_stays_given_up",
    ),
    breaks=("PRD-FIN-02",),
)
