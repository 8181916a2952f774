"""The session ends session.timeout.ms after the join, although all heartbeats are answered."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.heartbeat import Heartbeat
from clients.seeding.mutant import Mutant


class Ending(Heartbeat):
    """Does not start the session again."""

    def received(self) -> None:
        self._failures = 0


class Member(ConsumerCoordinator):
    """A member whose session cannot be kept."""

    heartbeat_clock = Ending


MUTANT = Mutant(
    "ends its session although its heartbeats are answered",
    Components(coordinator=Member),
    caught_by=("timeout_expiry/any_answer_to_a_heartbeat_keeps_the_session",),
    breaks=("CSM-GRP-08",),
)
