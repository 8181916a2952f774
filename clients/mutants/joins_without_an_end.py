"""A member joins once more soon after each assignment."""

from __future__ import annotations

from typing import Final

from clients.reference.consumer.calls import Call
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.seeding.mutant import Mutant

CONTENT_MS: Final = 250


class Restless(ConsumerCoordinator):
    """A member that is content with an assignment for a moment."""

    _content_until_ms = 0

    def on_join_complete(self, assignment: bytes) -> Call[None]:
        self._content_until_ms = self._clock.now_ms + CONTENT_MS
        yield from super().on_join_complete(assignment)

    def rejoin_needed_or_pending(self) -> bool:
        if self.stable_generation and self._clock.now_ms >= self._content_until_ms:
            self.request_rejoin_if_necessary("the assignment could be a better one")
        return super().rejoin_needed_or_pending()


MUTANT = Mutant(
    "joins its group again soon after each assignment",
    Components(coordinator=Restless),
    caught_by=("rebalance-storm",),
    breaks=("CSM-GRP-14",),
    scenarios=("group/join",),
)
