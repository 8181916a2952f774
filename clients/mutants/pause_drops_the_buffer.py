"""What was fetched of a partition is dropped when it is paused, but the position has passed it."""

from __future__ import annotations

from dataclasses import replace

from clients.reference.consumer.calls import Call
from clients.reference.consumer.components import Components
from clients.reference.consumer.deserializers import Deserializers
from clients.reference.consumer.fetch.fetch_collector import Fetch
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.seeding.mutant import Mutant


class Reader(Fetcher):
    """Moves the position over what it drops."""

    def collect(self) -> Call[Fetch]:
        current = self._buffer.next_in_line
        if current is not None and self._subscriptions.is_paused(current.partition):
            state = self._subscriptions.state(current.partition)
            if state is not None and state.position is not None and not current.is_consumed:
                left = yield from current.fetch_records(Deserializers(), 2**31 - 1)
                state.position = replace(state.position, offset=left[-1].offset + 1 if left else 0)
                current.drain()
        return (yield from super().collect())


MUTANT = Mutant(
    "loses the rest of what it has fetched when a partition is paused",
    Components(fetcher=Reader),
    caught_by=("delivery/a_paused_partition_keeps_what_it_has",),
    breaks=("CSM-FET-08",),
)
