"""Each heartbeat says everything, as if nothing had arrived before."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.generation import Generation
from clients.reference.consumer.coordinator.group_requests import Build
from clients.reference.consumer.membership.assignments import Assignment
from clients.reference.consumer.membership.heartbeat_contents import HeartbeatContents, Wishes
from clients.reference.consumer.membership.heartbeat_manager import HeartbeatManager
from clients.reference.consumer.membership.membership_manager import MembershipManager
from clients.seeding.mutant import Mutant


class Verbose(HeartbeatContents):
    """Forgets what it has said."""

    def next(self, generation: Generation, wishes: Wishes, assignment: Assignment) -> Build:
        self.reset()
        return super().next(generation, wishes, assignment)


class Heartbeats(HeartbeatManager):
    """Heartbeats without a memory."""

    contents_component = Verbose


class Member(MembershipManager):
    """A member of many words."""

    heartbeat_component = Heartbeats


MUTANT = Mutant(
    "sends all fields with each heartbeat",
    Components(membership=Member),
    caught_by=("state_transitions/a_heartbeat_says_everything_after_a_failure",),
    breaks=("CSM-NGP-03",),
)
