"""After a lost Fetch response the position goes back by one record."""

from __future__ import annotations

from dataclasses import replace

from clients.reference.consumer.components import Components
from clients.reference.consumer.fetch.fetch_session_handler import FetchSessionHandler
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.seeding.mutant import Mutant


class Anxious(Fetcher):
    """Goes back to be safe."""

    def _handle_failure(self, node_id: int, session: FetchSessionHandler, error: Exception) -> None:
        super()._handle_failure(node_id, session, error)
        for partition in session.partitions:
            state = self._subscriptions.state(partition)
            if state is not None and state.has_valid_position and state.position is not None:
                state.advance(replace(state.position, offset=max(state.position.offset - 1, 0)))


MUTANT = Mutant(
    "reads a record again after a Fetch without an answer",
    Components(fetcher=Anxious),
    caught_by=("delivery/every_record_is_returned_once_in_order",),
    breaks=("CSM-FET-02",),
)
