"""A late error about an earlier generation ends the present one (KAFKA-13419)."""

from __future__ import annotations

from clients.reference.common.requests import Message
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.generation import Generation
from clients.reference.consumer.coordinator.rebalance_responses import RebalanceResponses
from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.mutant import Mutant


class Unquestioning(RebalanceResponses):
    """Relates each answer to the present generation."""

    def heartbeat(self, body: Message, future: RequestFuture[None], sent: Generation) -> None:
        super().heartbeat(body, future, self._member.generation)


class Member(ConsumerCoordinator):
    """A member that old errors end."""

    responses = Unquestioning


MUTANT = Mutant(
    "loses its generation by a late error about an earlier one",
    Components(coordinator=Member),
    caught_by=("state_transitions/an_error_about_an_old_generation_does_not_count",),
    breaks=("CSM-GRP-07",),
)
