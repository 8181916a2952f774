"""A member that the coordinator does not know joins with the id that it had."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.seeding.mutant import Mutant
from harness.wire.apis import Api
from harness.wire.error_table import KafkaError


class Member(ConsumerCoordinator):
    """A member that keeps its id forever."""

    def reset_on_error(self, api: Api, error: KafkaError) -> None:
        self.reset_and_rejoin(error.name, reset_member_id=False)


MUTANT = Mutant(
    "joins with its old member id although the coordinator does not know it",
    Components(coordinator=Member),
    caught_by=("state_transitions/a_member_keeps_its_id_if_the_coordinator_knows_it",),
    breaks=("CSM-GRP-07",),
)
