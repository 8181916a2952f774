"""A fetch that fails resets the position, whatever the error is."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.completed_fetch import CompletedFetch
from clients.reference.consumer.fetch.fetch_collector import FetchCollector
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.seeding.mutant import Mutant


class Nervous(FetchCollector):
    """Begins again after each error."""

    def _handle_error(self, fetch: CompletedFetch) -> None:
        super()._handle_error(fetch)
        self._subscriptions.request_offset_reset_if_assigned(fetch.partition)


class Reader(Fetcher):
    """Loses its place."""

    collector_component = Nervous


MUTANT = Mutant(
    "resets its position after an error that is not about the offset",
    Components(fetcher=Reader),
    caught_by=("delivery/no_other_error_moves_a_position", "position-moved"),
    breaks=("CSM-FET-06",),
    scenarios=("delivery/not-leader",),
)
