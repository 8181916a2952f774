"""A commit of an outdated generation is repeated until its limit, and the application learns of it too late."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.generation import Generation
from clients.reference.consumer.errors import ConsumerError, CoordinatorNotAvailableError
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Member(ConsumerCoordinator):
    """A member that does not give up."""

    def commit_refused(self, error: KafkaError, sent: Generation) -> ConsumerError | None:
        if error.name in ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"):
            return CoordinatorNotAvailableError("commit-refused", "the member must be known soon")
        return super().commit_refused(error, sent)


MUTANT = Mutant(
    "repeats a commit that the coordinator refused because of an outdated generation",
    Components(coordinator=Member),
    caught_by=("delivery/a_commit_of_an_outdated_member_fails",),
    breaks=("CSM-OFC-03",),
)
