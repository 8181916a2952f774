"""A poll returns everything that is buffered, however small max.poll.records is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.fetch_collector import FetchCollector
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.seeding.mutant import Mutant


class Generous(FetchCollector):
    """Has no limit of its own."""

    def __init__(self, *parts: Any, **given: Any) -> None:
        super().__init__(*parts, **given)
        self._settings = replace(self._settings, max_poll_records=2**31 - 1)


class Abundant(Fetcher):
    """Returns all that there is."""

    collector_component = Generous


MUTANT = Mutant(
    "returns more records in a poll than max.poll.records",
    Components(fetcher=Abundant),
    caught_by=("delivery/a_poll_returns_no_more_than_it_may",),
    breaks=("CSM-FET-02",),
)
