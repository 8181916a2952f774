"""Each fetch lists all partitions and begins a session, which the broker has to keep."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.fetch_response import FetchAnswer
from clients.reference.consumer.fetch.fetch_session_handler import FetchSessionHandler
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.seeding.mutant import Mutant


class Restarting(FetchSessionHandler):
    """Never goes on."""

    def handle_response(self, answer: FetchAnswer) -> bool:
        usable = super().handle_response(answer)
        self._next = self._next.next_new()
        return usable


class Reader(Fetcher):
    """Says everything each time."""

    session_component = Restarting


MUTANT = Mutant(
    "begins a new fetch session with each request",
    Components(fetcher=Reader),
    caught_by=("delivery/a_fetch_session_begins_again_after_a_failure",),
    breaks=("CSM-FET-10",),
)
