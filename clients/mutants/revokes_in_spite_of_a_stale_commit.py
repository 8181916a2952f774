"""The commit before a revocation is not repeated when the epoch was stale, and the group reads these records again."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.membership.membership_manager import MembershipManager
from clients.reference.consumer.membership.reconciliation import CommitBeforeRevocation
from clients.seeding.mutant import Mutant


class Once(CommitBeforeRevocation):
    """Tries to commit once."""

    def is_over(self) -> bool:
        return self._future is None or self._future.is_done


class Member(MembershipManager):
    """A member that revokes anyway."""

    commit_before_component = Once


MUTANT = Mutant(
    "does not repeat a commit with a stale epoch before it revokes",
    Components(membership=Member),
    caught_by=("stale-commit", "state_transitions/the_commit_before_a_revocation_is_repeated"),
    scenarios=("group/commit-stale-epoch-auto",),
    breaks=("CSM-OFC-04",),
)
