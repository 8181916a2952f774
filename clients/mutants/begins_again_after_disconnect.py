"""A lost Fetch response makes the client look its positions up again, as if it had just begun."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.fetch_session_handler import FetchSessionHandler
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.seeding.mutant import Mutant


class Forgetful(Fetcher):
    """Resets the positions of a request that had no response."""

    def _handle_failure(self, node_id: int, session: FetchSessionHandler, error: Exception) -> None:
        super()._handle_failure(node_id, session, error)
        for partition in session.partitions:
            self._subscriptions.request_offset_reset_if_assigned(partition)


MUTANT = Mutant(
    "resets the positions of a Fetch request that had no response",
    Components(fetcher=Forgetful),
    caught_by=("delivery-order",),
    breaks=("CSM-FET-02",),
    scenarios=("consume/disconnect",),
)
