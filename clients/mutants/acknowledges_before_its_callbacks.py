"""A member of KIP-848 acknowledges an assignment before its listener has run."""

from __future__ import annotations

from clients.reference.consumer.calls import Call
from clients.reference.consumer.components import Components
from clients.reference.consumer.membership.membership_manager import MembershipManager
from clients.seeding.mutant import Mutant


class Member(MembershipManager):
    """A member that promises first."""

    def _reconcile(self) -> Call[None]:
        plan = self._plan = self._plan or self._next_plan()
        if plan is None:
            return
        self._plan = None
        self._reconciled(plan.target)
        self._client.transmit_sends(self._clock.now_ms)
        self.heartbeats.step()
        yield from self._listener.revoked(plan.revoked)
        plan.apply()
        yield from self._listener.assigned(plan.added)
        plan.finish()


MUTANT = Mutant(
    "acknowledges an assignment before the callbacks",
    Components(membership=Member),
    caught_by=("state_transitions/a_member_reconciles_in_order",),
    breaks=("CSM-NGP-04",),
)
