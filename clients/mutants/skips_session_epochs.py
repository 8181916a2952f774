"""The epoch of a fetch session rises by two."""

from __future__ import annotations

from dataclasses import replace

from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.fetch_response import FetchAnswer
from clients.reference.consumer.fetch.fetch_session_handler import FetchSessionHandler
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.seeding.mutant import READS, Mutant


class Skipping(FetchSessionHandler):
    """Skips an epoch after each request of a session but the first."""

    def handle_response(self, answer: FetchAnswer) -> bool:
        usable = super().handle_response(answer)
        if self._next.epoch > 1:
            self._next = replace(self._next, epoch=self._next.epoch + 1)
        return usable


class Sessions(Fetcher):
    """A fetcher whose sessions skip epochs."""

    session_component = Skipping


MUTANT = Mutant(
    "skips an epoch after each request of a fetch session",
    Components(fetcher=Sessions),
    caught_by=("fetch-session-broken",),
    breaks=("CSM-FET-10",),
    scenarios=READS,
)
