"""A member goes on with an id that its coordinator does not know."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.seeding.mutant import Mutant
from harness.wire.apis import Api, api_name
from harness.wire.error_table import KafkaError


class Persistent(ConsumerCoordinator):
    """Drops its id only when it cannot join with it."""

    def reset_on_error(self, api: Api, error: KafkaError) -> None:
        reason = f"{api_name(api)} was answered with {error.name}"
        self.reset_and_rejoin(reason, reset_member_id=api is Api.JOIN_GROUP)


MUTANT = Mutant(
    "joins again with a member id that its coordinator does not know",
    Components(coordinator=Persistent),
    caught_by=("rejoin-identity",),
    breaks=("CSM-GRP-07",),
    scenarios=("group/heartbeat-unknown",),
)
