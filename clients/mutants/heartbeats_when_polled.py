"""Heartbeats are sent only while the application polls, as before KIP-62."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.heartbeat import Heartbeat
from clients.seeding.mutant import Mutant

#: How long after a poll a heartbeat may be sent: longer than a poll that waits for records.
RECENTLY_MS = 500


class Bound(Heartbeat):
    """Waits for the application."""

    @property
    def is_due(self) -> bool:
        polled_ms = self.poll_ends_ms - self._config.max_poll_interval_ms
        return super().is_due and self._clock.now_ms - polled_ms <= RECENTLY_MS

    @property
    def next_ms(self) -> int:
        return max(super().next_ms, self._clock.now_ms + 100)


class Member(ConsumerCoordinator):
    """A member whose heartbeats depend on its application."""

    heartbeat_clock = Bound


MUTANT = Mutant(
    "sends heartbeats only while the application polls",
    Components(coordinator=Member),
    caught_by=("session-lapsed",),
    breaks=("CSM-GRP-05",),
    scenarios=("group/long-processing",),
)
