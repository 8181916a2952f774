"""The member forgets the id that the coordinator gave it, and joins without one again."""

from __future__ import annotations

from clients.reference.common.requests import Message
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.generation import NO_GENERATION, Generation
from clients.reference.consumer.coordinator.rebalance_responses import RebalanceResponses
from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.mutant import Mutant


class Forgetful(RebalanceResponses):
    """Does not take the id from MEMBER_ID_REQUIRED."""

    def join_group(self, body: Message, future: RequestFuture[bytes], sent: Generation) -> None:
        super().join_group(body, future, sent)
        if self._member.generation.is_reset:
            self._member.generation = NO_GENERATION


class Member(ConsumerCoordinator):
    """A member without a memory."""

    responses = Forgetful


MUTANT = Mutant(
    "joins again without the member id that the coordinator gave it",
    Components(coordinator=Member),
    caught_by=("state_transitions/the_first_join_gets_an_id_and_the_second_has_it",),
    breaks=("CSM-GRP-02",),
)
