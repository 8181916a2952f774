"""Two threads may use a consumer at once, and each sees half of what the other does."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from clients.reference.transport.consumer_driver import ConsumerDriver
from clients.seeding.consumer_variant import ConsumerVariant
from clients.seeding.mutant import Mutant


class Open(ConsumerDriver):
    """Lets every thread in."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.use = nullcontext()  # type: ignore[assignment]


MUTANT = Mutant(
    "does not refuse calls from a second thread",
    ConsumerVariant(driver=Open),
    caught_by=("timeout_expiry/one_thread_uses_a_consumer",),
    breaks=("CSM-API-03",),
)
