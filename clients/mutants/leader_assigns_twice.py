"""The leader gives a partition of one member to another one too."""

from __future__ import annotations

from clients.reference.common.requests import Message
from clients.reference.consumer.components import Components
from clients.reference.consumer.consumer_protocol import decode_assignment, encode_assignment
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.group_leader import GroupLeader
from clients.seeding.mutant import MOVES, Mutant


class Generous(GroupLeader):
    """Adds the first partition of the first member to the assignment of the last."""

    def assign(self, answer: Message, now_ms: int) -> dict[str, bytes] | None:
        assignment = super().assign(answer, now_ms)
        if assignment and len(assignment) > 1:
            one, *_, another = sorted(assignment)
            shared = decode_assignment(assignment[one]).partitions[:1]
            own = decode_assignment(assignment[another]).partitions
            assignment[another] = encode_assignment((*own, *shared))
        return assignment


class Member(ConsumerCoordinator):
    """A member that assigns too much when it leads."""

    leader_component = Generous


MUTANT = Mutant(
    "assigns a partition to two members when it leads the group",
    Components(coordinator=Member),
    caught_by=("two-owners",),
    breaks=("CSM-GRP-14",),
    scenarios=MOVES,
)
