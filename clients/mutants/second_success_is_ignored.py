"""A second success of a stored batch raises no error."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.states import BatchState
from clients.seeding.mutant import Mutant


class Patient(ProducerBatch):
    """Ignores a second success."""

    def succeed(self, base_offset: int, log_append_time_ms: int, now_ms: int) -> bool:
        if self.state is BatchState.SUCCEEDED:
            return False
        return super().succeed(base_offset, log_append_time_ms, now_ms)


MUTANT = Mutant(
    "accepts a second success of a batch without an error",
    Components(batch=Patient),
    caught_by=("state_transitions/a_batch_takes_one_final_state",),
    breaks=("PRD-FIN-03",),
)
