"""A batch that begins behind offsets that compaction has removed is skipped."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.completed_fetch import CompletedFetch
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.seeding.mutant import Mutant
from harness.wire.records import UnreadBatch


class Strict(CompletedFetch):
    """Expects each batch where the last one ended."""

    def _begin(self, batch: UnreadBatch) -> None:
        if batch.header.base_offset > self._read_offset:
            self._found_batch = True
            self._skip(batch.header)
        else:
            super()._begin(batch)


class Reader(Fetcher):
    """Takes gaps for damage."""

    completed_component = Strict


MUTANT = Mutant(
    "skips records that follow compacted offsets",
    Components(fetcher=Reader),
    caught_by=("delivery/compacted_offsets_are_passed", "delivery-order"),
    breaks=("CSM-FET-04",),
    scenarios=("consume/compacted",),
)
