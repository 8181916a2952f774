"""A listener that is added to a future with an outcome is never called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.consumer_variant import ConsumerVariant
from clients.seeding.mutant import Mutant


class Punctual(RequestFuture[Any]):
    """Calls listeners only when the outcome comes."""

    def add_listener(
        self, on_success: Callable[[Any], None], on_failure: Callable[[Exception], None]
    ) -> None:
        self._listeners.append((on_success, on_failure))


MUTANT = Mutant(
    "does not call listeners that come after the outcome",
    ConsumerVariant(future=Punctual),
    caught_by=(
        "state_transitions/a_future_ends_once_and_tells_each_listener_once",
        "state_transitions/a_composed_or_chained_future_has_the_outcome_of_the_first",
    ),
    breaks=("CSM-CNC-06",),
)
