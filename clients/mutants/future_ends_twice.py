"""A future takes a second outcome in place of its first one."""

from __future__ import annotations

from typing import Any

from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.consumer_variant import ConsumerVariant
from clients.seeding.mutant import Mutant


class Overwritten(RequestFuture[Any]):
    """Accepts an outcome at any time."""

    def _must_be_open(self) -> None:
        self._value, self._error = RequestFuture()._value, None


MUTANT = Mutant(
    "lets a second outcome replace the first one of a request",
    ConsumerVariant(future=Overwritten),
    caught_by=("state_transitions/a_future_ends_once_and_tells_each_listener_once",),
    breaks=("CSM-CNC-05",),
)
