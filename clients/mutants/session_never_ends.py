"""A coordinator that no longer answers heartbeats is never looked up again."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.heartbeat import Heartbeat
from clients.seeding.mutant import Mutant


class Endless(Heartbeat):
    """Has a session without an end."""

    def reset_session_timeout(self) -> None:
        self.session_ends_ms = 2**62


class Member(ConsumerCoordinator):
    """A member that trusts its coordinator."""

    heartbeat_clock = Endless


MUTANT = Mutant(
    "keeps its coordinator although no heartbeat is answered for session.timeout.ms",
    Components(coordinator=Member),
    caught_by=("session-ignored", "timeout_expiry/a_silent_coordinator_is_looked_up_after_the_session"),
    scenarios=("group/heartbeat-answer-held",),
    breaks=("CSM-GRP-08",),
)
