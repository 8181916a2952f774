"""A member goes on when its coordinator tells it that the group rebalances."""

from __future__ import annotations

from clients.reference.common.requests import Message
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.generation import Generation
from clients.reference.consumer.coordinator.rebalance_responses import RebalanceResponses
from clients.reference.consumer.errors import ConsumerError, RebalanceInProgressError
from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.mutant import Mutant
from harness.wire.error_table import BY_NAME, KafkaError

REBALANCES = BY_NAME["REBALANCE_IN_PROGRESS"]


class Unmoved(RebalanceResponses):
    """Takes a heartbeat that is answered with a rebalance for a successful one."""

    def heartbeat(self, body: Message, future: RequestFuture[None], sent: Generation) -> None:
        if int(body.error_code) == REBALANCES.code:
            future.complete(None)
        else:
            super().heartbeat(body, future, sent)


class Member(ConsumerCoordinator):
    """A member that stays where it is. Its commits fail, and it does not join again for that either."""

    responses = Unmoved

    def commit_refused(self, error: KafkaError, sent: Generation) -> ConsumerError | None:
        if error.code == REBALANCES.code:
            return RebalanceInProgressError("commit-during-rebalance", "the group rebalances")
        return super().commit_refused(error, sent)


MUTANT = Mutant(
    "does not join again when its coordinator tells it that the group rebalances",
    Components(coordinator=Member),
    caught_by=("rejoins-late",),
    breaks=("CSM-GRP-06",),
    scenarios=("group/kill",),
)
