"""A request contains a batch of every partition, however large they are together."""

from __future__ import annotations

from dataclasses import replace

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class Overloading(RecordAccumulator):
    """Drains without the limit max.request.size."""

    def _drain_node(self, node_id: int, now_ms: int) -> list[ProducerBatch]:
        config, self._config = self._config, replace(self._config, max_request_size=2**31 - 1)
        drained = super()._drain_node(node_id, now_ms)
        self._config = config
        return drained


MUTANT = Mutant(
    "puts a batch of every partition into a request, even beyond max.request.size",
    Components(accumulator=Overloading),
    caught_by=("state_transitions/BatchesGoWhenTheyMayAndInOrder",),
    breaks=("PRD-ACC-05",),
)
