"""The position stays behind the last record of a batch whose end was compacted, and the batch is fetched again."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.completed_fetch import CompletedFetch
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.seeding.mutant import Mutant
from harness.wire.records import BatchHeader


class Literal(CompletedFetch):
    """Moves over records only."""

    def _skip(self, header: BatchHeader) -> None:
        """Do nothing."""


class Reader(Fetcher):
    """Stands in gaps."""

    completed_component = Literal


MUTANT = Mutant(
    "does not move over offsets that compaction has removed",
    Components(fetcher=Reader),
    caught_by=("delivery/compacted_offsets_are_passed",),
    breaks=("CSM-FET-04",),
)
