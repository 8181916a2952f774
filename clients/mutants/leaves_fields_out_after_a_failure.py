"""The heartbeat after a lost one says only what has changed, although the coordinator may not know the rest."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.membership.heartbeat_manager import HeartbeatManager
from clients.reference.consumer.membership.membership_manager import MembershipManager
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Terse(HeartbeatManager):
    """Believes that everything has arrived."""

    def _failed(self, error: Exception, incarnation: int) -> None:
        self.times.ended()
        self.times.failed()

    def _refused(self, error: KafkaError) -> None:
        said = dict(vars(self.contents))
        super()._refused(error)
        vars(self.contents).update(said)


class Member(MembershipManager):
    """A member of few words."""

    heartbeat_component = Terse


MUTANT = Mutant(
    "leaves out unchanged fields after a failed heartbeat",
    Components(membership=Member),
    caught_by=("heartbeat-contents", "state_transitions/a_heartbeat_says_everything_after_a_failure"),
    scenarios=("group/epoch-elsewhere",),
    breaks=("CSM-NGP-03",),
)
