"""A lost Fetch response counts as read: the position moves over the next record."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.fetch_session_handler import FetchSessionHandler
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.reference.consumer.subscription.positions import FetchPosition
from clients.seeding.mutant import Mutant


class Hasty(Fetcher):
    """Moves the positions of a request that had no response."""

    def _handle_failure(self, node_id: int, session: FetchSessionHandler, error: Exception) -> None:
        super()._handle_failure(node_id, session, error)
        for partition in session.partitions:
            state = self._subscriptions.state(partition)
            if state is not None and state.is_fetchable and state.position is not None:
                at = state.position
                state.advance(FetchPosition(at.offset + 1, at.offset_epoch, at.leader))


MUTANT = Mutant(
    "moves over a record if a Fetch request has no response",
    Components(fetcher=Hasty),
    caught_by=("delivery-order", "skipped"),
    breaks=("CSM-FET-02",),
    scenarios=("consume/disconnect",),
)
