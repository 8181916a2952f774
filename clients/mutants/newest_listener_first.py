"""The listeners of a future run in the reverse of the order in which they were added."""

from __future__ import annotations

from typing import Any

from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.consumer_variant import ConsumerVariant
from clients.seeding.mutant import Mutant


class Stack(RequestFuture[Any]):
    """Calls the newest listener first."""

    def _tell(self) -> None:
        self._listeners.reverse()
        super()._tell()


MUTANT = Mutant(
    "calls the listeners of a request in reverse order",
    ConsumerVariant(future=Stack),
    caught_by=("state_transitions/a_future_ends_once_and_tells_each_listener_once",),
    breaks=("CSM-CNC-06",),
)
