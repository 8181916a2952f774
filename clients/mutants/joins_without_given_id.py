"""The client does not keep the member id that its coordinator gives it."""

from __future__ import annotations

from clients.reference.common.requests import Message
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.generation import NO_GENERATION, Generation
from clients.reference.consumer.coordinator.rebalance_responses import RebalanceResponses
from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.mutant import MOVES, Mutant
from harness.wire.error_table import BY_NAME

GIVEN = BY_NAME["MEMBER_ID_REQUIRED"].code
#: How often it forgets the id. After that it could never join.
TIMES = 1


class Forgetful(RebalanceResponses):
    """Joins once more without an id."""

    forgotten = 0

    def join_group(self, body: Message, future: RequestFuture[bytes], sent: Generation) -> None:
        super().join_group(body, future, sent)
        if int(body.error_code) == GIVEN and self.forgotten < TIMES:
            self.forgotten += 1
            self._member.generation = NO_GENERATION


class Member(ConsumerCoordinator):
    """A member that is given several ids."""

    responses = Forgetful


MUTANT = Mutant(
    "joins again without the member id that it was given",
    Components(coordinator=Member),
    caught_by=("rejoin-identity",),
    breaks=("CSM-GRP-02",),
    scenarios=MOVES,
)
