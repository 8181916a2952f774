"""close() does not end fetch sessions, and brokers keep them until they need the place."""

from __future__ import annotations

from clients.reference.consumer.calls import Call, Timer
from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.seeding.mutant import Mutant


class Reader(Fetcher):
    """Goes without a word."""

    def close(self, timer: Timer) -> Call[None]:
        self._sessions = {}
        yield from super().close(timer)


MUTANT = Mutant(
    "leaves its fetch sessions open when it closes",
    Components(fetcher=Reader),
    caught_by=("delivery/close_ends_fetch_sessions",),
    breaks=("CSM-FET-10",),
)
