"""A member of KIP-848 acknowledges an assignment at once, and its listener runs in the next poll."""

from __future__ import annotations

from clients.reference.consumer.calls import Call, Timer
from clients.reference.consumer.components import Components
from clients.reference.consumer.membership.membership_manager import MembershipManager
from clients.reference.consumer.membership.reconciliation import Reconciliation
from clients.seeding.mutant import Mutant


class Member(MembershipManager):
    """A member that promises first."""

    _promised: Reconciliation | None = None

    def _reconcile(self) -> Call[None]:
        plan = self._next_plan()
        if plan is not None:
            self._promised = plan
            self._reconciled(plan.target)
        yield from ()

    def poll(self, timer: Timer, *, wait_for_join: bool = True) -> Call[bool]:
        plan, self._promised = self._promised, None
        if plan is not None:
            yield from self._listener.revoked(plan.revoked)
            plan.apply()
            yield from self._listener.assigned(plan.added)
            plan.finish()
        return (yield from super().poll(timer, wait_for_join=wait_for_join))


MUTANT = Mutant(
    "acknowledges an assignment before the callbacks",
    Components(membership=Member),
    caught_by=("reconciled-early", "state_transitions/a_member_reconciles_in_order"),
    scenarios=("group/join-new-protocol",),
    breaks=("CSM-NGP-04",),
)
