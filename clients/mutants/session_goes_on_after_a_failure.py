"""A fetch session goes on with the next epoch after an answer was lost or refused."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.fetch_session_handler import FetchSessionHandler
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.seeding.mutant import Mutant


class Optimist(FetchSessionHandler):
    """Counts a lost answer."""

    def handle_error(self) -> None:
        self._next = self._next.next()


class Reader(Fetcher):
    """Hopes for the best."""

    session_component = Optimist


MUTANT = Mutant(
    "goes on with a fetch session whose last answer was lost",
    Components(fetcher=Reader),
    caught_by=("delivery/a_fetch_session_begins_again_after_a_failure",),
    breaks=("CSM-FET-10",),
)
