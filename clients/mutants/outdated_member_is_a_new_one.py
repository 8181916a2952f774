"""A member of an outdated generation joins as a new member, and its old self has to expire."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.seeding.mutant import Mutant
from harness.wire.apis import Api
from harness.wire.error_table import KafkaError


class Member(ConsumerCoordinator):
    """A member that never keeps its id."""

    def reset_on_error(self, api: Api, error: KafkaError) -> None:
        self.reset_and_rejoin(error.name, reset_member_id=True)


MUTANT = Mutant(
    "joins as a new member after ILLEGAL_GENERATION",
    Components(coordinator=Member),
    caught_by=("state_transitions/a_member_keeps_its_id_if_the_coordinator_knows_it",),
    breaks=("CSM-GRP-07",),
)
