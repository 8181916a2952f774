"""A commit of the application with a stale epoch is repeated until its limit."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.generation import Generation
from clients.reference.consumer.errors import ConsumerError, CoordinatorNotAvailableError
from clients.reference.consumer.membership.membership_manager import MembershipManager
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Member(MembershipManager):
    """A member that does not mind."""

    def commit_refused(self, error: KafkaError, sent: Generation) -> ConsumerError | None:
        if error.name == "STALE_MEMBER_EPOCH":
            return CoordinatorNotAvailableError("epoch-is-stale", "the epoch was stale")
        return super().commit_refused(error, sent)


MUTANT = Mutant(
    "repeats a commit of the application that has a stale epoch",
    Components(membership=Member),
    caught_by=("stale-commit", "state_transitions/a_commit_with_a_stale_epoch_fails"),
    scenarios=("group/commit-stale-epoch",),
    breaks=("CSM-OFC-04",),
)
