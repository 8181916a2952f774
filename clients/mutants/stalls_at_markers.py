"""The position stays in front of a transaction's marker that is the last entry of the log."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.completed_fetch import CompletedFetch
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.seeding.mutant import Mutant
from harness.wire.records import UnreadBatch


class Waiting(CompletedFetch):
    """Moves over batches with records only."""

    def _begin(self, batch: UnreadBatch) -> None:
        before = self._read_offset
        super()._begin(batch)
        if batch.header.is_control:
            self._read_offset = before


class Reader(Fetcher):
    """Stops before markers."""

    completed_component = Waiting


MUTANT = Mutant(
    "does not move over markers of transactions",
    Components(fetcher=Reader),
    caught_by=("delivery/aborted_records_and_markers_are_passed", "refetched-tail"),
    breaks=("CSM-FET-04",),
    scenarios=("consume/control-tail",),
)
