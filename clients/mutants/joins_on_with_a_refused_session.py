"""A session timeout that the broker refuses is taken for a passing error, and the member joins again and again."""

from __future__ import annotations

from clients.reference.common.requests import Message
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.generation import Generation
from clients.reference.consumer.coordinator.rebalance_responses import RebalanceResponses
from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.mutant import Mutant
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME, error_for


class Hopeful(RebalanceResponses):
    """Takes the refusal for a group that is being loaded."""

    def join_group(self, body: Message, future: RequestFuture[bytes], sent: Generation) -> None:
        if error_for(int(body.error_code)).name == "INVALID_SESSION_TIMEOUT":
            self._fail(future, BY_NAME["COORDINATOR_LOAD_IN_PROGRESS"], Api.JOIN_GROUP)
        else:
            super().join_group(body, future, sent)


class Member(ConsumerCoordinator):
    """A member that never gives up joining."""

    responses = Hopeful


MUTANT = Mutant(
    "joins again and again with a session timeout that the broker refuses, without an error",
    Components(coordinator=Member),
    caught_by=("state_transitions/a_session_timeout_that_the_broker_refuses_is_an_error",),
    breaks=("CLI-CFG-04",),
)
