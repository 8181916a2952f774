"""A heartbeat that is answered with a rebalance changes nothing."""

from __future__ import annotations

from clients.reference.common.requests import Message
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.generation import Generation
from clients.reference.consumer.coordinator.rebalance_responses import RebalanceResponses
from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.mutant import Mutant
from harness.wire.error_table import error_for


class Deaf(RebalanceResponses):
    """Takes a rebalance for a success."""

    def heartbeat(self, body: Message, future: RequestFuture[None], sent: Generation) -> None:
        if error_for(int(body.error_code)).name == "REBALANCE_IN_PROGRESS":
            future.complete(None)
        else:
            super().heartbeat(body, future, sent)


class Member(ConsumerCoordinator):
    """A member that stays as it is."""

    responses = Deaf


MUTANT = Mutant(
    "does not join again when a heartbeat is answered with a rebalance",
    Components(coordinator=Member),
    caught_by=(
        "state_transitions/a_rebalance_makes_a_stable_member_join",
        "state_transitions/members_move_as_the_oracle_says",
    ),
    breaks=("CSM-GRP-06",),
)
