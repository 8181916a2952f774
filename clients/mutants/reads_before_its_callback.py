"""A member of KIP-848 reads new partitions before onPartitionsAssigned has accepted them."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.membership.membership_manager import MembershipManager
from clients.reference.consumer.membership.reconciliation import Reconciliation
from clients.seeding.mutant import Mutant


class Early(Reconciliation):
    """Lets new partitions be read at once."""

    def apply(self) -> None:
        super().apply()
        self.finish()


class Member(MembershipManager):
    """A member that cannot wait."""

    reconciliation_component = Early


MUTANT = Mutant(
    "returns records of a new partition before its callback",
    Components(membership=Member),
    caught_by=("state_transitions/nothing_is_read_before_its_callback",),
    breaks=("CSM-NGP-04",),
)
