"""Every request starts with the same partition. If that partition fills each request, the others starve."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class UnfairAccumulator(RecordAccumulator):
    """Does not rotate the partition that it drains first."""

    def _drain_node(self, node_id: int, now_ms: int) -> list[ProducerBatch]:
        self._drain_from.pop(node_id, None)
        return super()._drain_node(node_id, now_ms)


MUTANT = Mutant(
    "starts every request with the same partition",
    Components(accumulator=UnfairAccumulator),
    caught_by=("state_transitions/no_partition_starves",),
    breaks=("PRD-ACC-06",),
)
