"""poll() goes on waiting although the position has moved over markers."""

from __future__ import annotations

from clients.reference.consumer.calls import Call, Timer
from clients.reference.consumer.consumer import ConsumerCore
from clients.reference.consumer.fetch.fetch_collector import Fetch
from clients.seeding.consumer_variant import ConsumerVariant
from clients.seeding.mutant import Mutant


class Demanding(ConsumerCore):
    """Does not count a position that has moved."""

    def _poll_for_fetches(self, timer: Timer) -> Call[Fetch]:
        fetch = yield from super()._poll_for_fetches(timer)
        return fetch if fetch.count else Fetch()


MUTANT = Mutant(
    "returns from poll() only with records or at its timeout",
    ConsumerVariant(core=Demanding),
    caught_by=("timeout_expiry/a_poll_returns_as_soon_as_the_position_moves",),
    breaks=("CSM-API-02",),
)
