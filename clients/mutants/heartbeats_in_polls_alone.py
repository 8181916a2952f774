"""Heartbeats are sent only while the application polls, so that slow processing ends the session."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.seeding.mutant import Mutant

POLLED_MS = 200


class Member(ConsumerCoordinator):
    """A member whose heart depends on the application."""

    last_poll_ms = 0

    def poll_heartbeat(self) -> None:
        self.last_poll_ms = self._clock.now_ms
        super().poll_heartbeat()

    def step(self) -> int | None:
        is_polled = self._clock.now_ms - self.last_poll_ms <= POLLED_MS
        return super().step() if is_polled else None


MUTANT = Mutant(
    "sends heartbeats, and notices missing ones, only for a moment after each poll",
    Components(coordinator=Member),
    caught_by=("timeout_expiry/heartbeats_keep_their_interval",),
    breaks=("CSM-GRP-05",),
)
