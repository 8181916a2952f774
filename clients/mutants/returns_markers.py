"""The markers of transactions are returned as if they were records."""

from __future__ import annotations

from dataclasses import replace

from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.completed_fetch import CompletedFetch
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.seeding.mutant import Mutant
from harness.wire.records import UnreadBatch


class Literal(CompletedFetch):
    """Takes each batch for records."""

    def _begin(self, batch: UnreadBatch) -> None:
        if batch.header.is_control:
            batch = UnreadBatch(replace(batch.header, attributes=0), batch._data)
        super()._begin(batch)


class Reader(Fetcher):
    """Reads what is not for applications."""

    completed_component = Literal


MUTANT = Mutant(
    "returns the markers of transactions as records",
    Components(fetcher=Reader),
    caught_by=("delivery/aborted_records_and_markers_are_passed", "foreign-record"),
    breaks=("CSM-FET-04",),
    scenarios=("consume/control-tail",),
)
