"""Records that were fetched before a seek are returned after it."""

from __future__ import annotations

from dataclasses import replace

from clients.reference.consumer.calls import Call
from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.completed_fetch import CompletedFetch
from clients.reference.consumer.fetch.fetch_collector import Fetch, FetchCollector
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.seeding.mutant import Mutant


class Stubborn(FetchCollector):
    """Sets the position to what it has."""

    def _add_records(self, current: CompletedFetch, fetch: Fetch) -> Call[None]:
        state = self._subscriptions.state(current.partition)
        if state is not None and state.is_fetchable and state.position is not None:
            state.position = replace(state.position, offset=current.next_fetch_offset)
        yield from super()._add_records(current, fetch)


class Reader(Fetcher):
    """Reads on where it was."""

    collector_component = Stubborn


MUTANT = Mutant(
    "returns records of its old position after a seek",
    Components(fetcher=Reader),
    caught_by=("delivery/after_a_seek_only_its_target_is_read",),
    breaks=("CSM-FET-03",),
)
