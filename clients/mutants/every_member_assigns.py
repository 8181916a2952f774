"""Members that do not lead send an assignment as well."""

from __future__ import annotations

from collections.abc import Mapping

from clients.reference.consumer.components import Components
from clients.reference.consumer.consumer_protocol import encode_assignment
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.rebalance_responses import RebalanceResponses
from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.mutant import Mutant


class Presumptuous(RebalanceResponses):
    """Assigns something to itself."""

    def _sync(self, assignment: Mapping[str, bytes], future: RequestFuture[bytes]) -> None:
        own = {self._member.generation.member_id: encode_assignment([])}
        super()._sync(assignment or own, future)


class Member(ConsumerCoordinator):
    """A member that always assigns."""

    responses = Presumptuous


MUTANT = Mutant(
    "sends an assignment also if it does not lead",
    Components(coordinator=Member),
    caught_by=("assignment-not-followed", "state_transitions/only_the_leader_assigns"),
    scenarios=("group/join",),
    breaks=("CSM-GRP-04",),
)
