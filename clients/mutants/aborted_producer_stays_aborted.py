"""After an aborted transaction, the producer's later committed transactions are left out as well."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.completed_fetch import CompletedFetch
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.seeding.mutant import Mutant
from harness.wire.records import UnreadBatch


class Unforgiving(CompletedFetch):
    """Never takes a producer back."""

    def _begin(self, batch: UnreadBatch) -> None:
        aborted = set(self._aborted_producers)
        super()._begin(batch)
        self._aborted_producers |= aborted


class Reader(Fetcher):
    """Reads too little."""

    completed_component = Unforgiving


MUTANT = Mutant(
    "leaves out what a producer commits after an aborted transaction",
    Components(fetcher=Reader),
    caught_by=("delivery/aborted_records_and_markers_are_passed",),
    breaks=("CSM-FET-05",),
)
