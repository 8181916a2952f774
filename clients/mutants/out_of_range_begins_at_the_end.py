"""A position that the log no longer has goes to the end of the log, whatever auto.offset.reset says."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.completed_fetch import CompletedFetch
from clients.reference.consumer.fetch.fetch_collector import FetchCollector
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.seeding.mutant import Mutant


class Forward(FetchCollector):
    """Knows one policy."""

    def _handle_out_of_range(self, fetch: CompletedFetch) -> None:
        self._subscriptions.request_offset_reset(fetch.partition, "latest")


class Reader(Fetcher):
    """Reads the news."""

    collector_component = Forward


MUTANT = Mutant(
    "goes to the end of the log when its position is out of range",
    Components(fetcher=Reader),
    caught_by=("delivery/beyond_the_log_the_policy_decides",),
    breaks=("CSM-FET-06",),
)
