"""After a Fetch has failed, the client waits for its response forever, and fetches nothing else from that broker."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.fetch_session_handler import FetchSessionHandler
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.seeding.mutant import Mutant


class Awaiting(Fetcher):
    """Still counts a failed request as pending."""

    def _handle_failure(self, node_id: int, session: FetchSessionHandler, error: Exception) -> None:
        super()._handle_failure(node_id, session, error)
        self._nodes_with_pending.add(node_id)


MUTANT = Mutant(
    "waits forever for the response to a Fetch that has failed",
    Components(fetcher=Awaiting),
    caught_by=("undelivered",),
    breaks=("E2E-LIV-01",),
    scenarios=("consume/disconnect",),
)
