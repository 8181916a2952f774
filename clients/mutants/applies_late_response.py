"""A response that arrives after a batch has failed turns the failure, already reported, into a success."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import BatchResult, ProducerBatch
from clients.seeding.mutant import Mutant


class Reconsidering(ProducerBatch):
    """Replaces its final result when a response arrives late."""

    def succeed(self, base_offset: int, log_append_time_ms: int, now_ms: int) -> bool:
        super().succeed(base_offset, log_append_time_ms, now_ms)
        self.result = BatchResult(base_offset, log_append_time_ms)
        return True


MUTANT = Mutant(
    "turns a failed batch into a success when its response arrives late",
    Components(batch=Reconsidering),
    caught_by=(
        "state_transitions/a_batch_takes_one_final_state",
        "timeout_expiry/what_was_given_up_stays_given_up",
    ),
    breaks=("PRD-FIN-02",),
)
