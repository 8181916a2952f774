"""A SyncGroup that is answered with NOT_COORDINATOR is repeated at the same broker."""

from __future__ import annotations

from clients.reference.common.requests import Message
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.generation import Generation
from clients.reference.consumer.coordinator.rebalance_responses import RebalanceResponses
from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.mutant import Mutant
from harness.wire.apis import Api
from harness.wire.error_table import error_for


class Staying(RebalanceResponses):
    """Takes each error of SyncGroup for a passing one."""

    def sync_group(self, body: Message, future: RequestFuture[bytes], sent: Generation) -> None:
        error = error_for(int(body.error_code))
        if error.name in ("COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"):
            self._fail(future, error, Api.SYNC_GROUP)
        else:
            super().sync_group(body, future, sent)


class Member(ConsumerCoordinator):
    """A member that stays with its coordinator."""

    responses = Staying


MUTANT = Mutant(
    "does not look its coordinator up again after an error of SyncGroup",
    Components(coordinator=Member),
    caught_by=("delivery/each_request_follows_the_coordinator",),
    breaks=("CSM-GRP-01",),
)
