"""The leader assigns all partitions of a topic but the last."""

from __future__ import annotations

from clients.reference.common.requests import Message
from clients.reference.consumer.components import Components
from clients.reference.consumer.consumer_protocol import decode_assignment, encode_assignment
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.group_leader import GroupLeader
from clients.seeding.mutant import MOVES, Mutant


class Forgetful(GroupLeader):
    """Leaves the partition with the highest number out of each assignment."""

    def assign(self, answer: Message, now_ms: int) -> dict[str, bytes] | None:
        assignment = super().assign(answer, now_ms)
        if not assignment:
            return assignment
        given = {member: decode_assignment(data).partitions for member, data in assignment.items()}
        last = max((each for partitions in given.values() for each in partitions), default=None)
        return {
            member: encode_assignment(each for each in partitions if each != last)
            for member, partitions in given.items()
        }


class Member(ConsumerCoordinator):
    """A member that assigns too little when it leads."""

    leader_component = Forgetful


MUTANT = Mutant(
    "leaves the last partition out of the assignment when it leads the group",
    Components(coordinator=Member),
    caught_by=("orphaned",),
    breaks=("CSM-GRP-14",),
    scenarios=MOVES,
)
