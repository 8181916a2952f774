"""Records of aborted transactions are returned with isolation.level=read_committed."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.completed_fetch import CompletedFetch
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.seeding.mutant import Mutant


class Blind(CompletedFetch):
    """Does not look at the list of aborted transactions."""

    def _begin_aborted(self, last_offset: int) -> None:
        """Do nothing."""


class Reader(Fetcher):
    """Reads what was aborted."""

    completed_component = Blind


MUTANT = Mutant(
    "returns aborted records although it reads committed ones only",
    Components(fetcher=Reader),
    caught_by=("delivery/aborted_records_and_markers_are_passed", "uncommitted-record"),
    breaks=("CSM-FET-05",),
    scenarios=("consume/control-tail", "consume/transactions-committed"),
)
