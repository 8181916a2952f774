"""A damaged batch is skipped without a word."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.completed_fetch import CompletedFetch
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.seeding.mutant import Mutant
from harness.wire.records import UnreadBatch


class Tolerant(CompletedFetch):
    """Goes on behind what it cannot read."""

    def _begin(self, batch: UnreadBatch) -> None:
        if batch.crc_matches():
            super()._begin(batch)
        else:
            self._found_batch = True
            self._skip(batch.header)


class Reader(Fetcher):
    """Reads what it can."""

    completed_component = Tolerant


MUTANT = Mutant(
    "skips a batch whose checksum is wrong",
    Components(fetcher=Reader),
    caught_by=("delivery/a_damaged_batch_is_an_error_with_its_place", "damaged-batch"),
    breaks=("CSM-FET-09",),
    scenarios=("delivery/damaged-batches",),
)
