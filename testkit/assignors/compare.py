"""Compare the reference client's assignors with Java's, on the groups of :mod:`testkit.assignors.groups`.

The leader of a group lives for all of its generations, in Java and here. Java answers first, and tells the order in
which its hash maps iterate. The reference client gets the same mappings in that order, so that the assignments must be
equal byte by byte. For the choice in :mod:`testkit.assignors.hash_set`, it takes Java's first one.

In two cases, Java intends a partition for a member that does not subscribe to its topic: it assigns it to that member,
withholds it until another one gives it up, or raises an exception. There, only the promises are compared:
:data:`TOPICLESS` and :data:`FORMER_READER`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final

from clients.reference.consumer.assignors import ASSIGNORS
from clients.reference.consumer.assignors.assignor import Assignment, Assignor, Subscription, TopicPartition
from clients.reference.consumer.assignors.sticky.cooperative_sticky_assignor import CooperativeStickyAssignor
from clients.reference.consumer.assignors.sticky.sticky_assignor import StickyAssignor
from clients.reference.consumer.assignors.sticky.user_data import decode_owned
from clients.reference.consumer.consumer_protocol import (
    HIGHEST_VERSION,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from testkit.assignors.groups import Group
from testkit.assignors.hash_set import FirstOfHashSet
from testkit.assignors.java_side import JavaAnswer, JavaAssignors
from testkit.assignors.promises import broken_promises

TOPICLESS: Final = "Java assigns to a member without topics"
"""The first members that Java looks at have no topics: it treats the subscriptions as equal."""
FORMER_READER: Final = "Java returns a partition to a former reader"
"""A member missed a generation, and no longer subscribes to the topic of a partition that it owned."""


@dataclass(slots=True)
class Figures:
    """What was compared. ``differences`` are sentences; ``excused`` counts the cases with a name."""

    assignor: str
    assignments: int = 0
    groups: int = 0
    encodings: int = 0
    hash_choices: int = 0
    excused: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)


def compare(java: JavaAssignors, assignor: str, seed: int, count: int) -> Figures:
    """Compare at least ``count`` assignments of one assignor."""
    figures = Figures(assignor)
    while figures.assignments < count:
        figures.groups += 1
        _compare_group(java, figures, f"{seed}/{assignor}/{figures.groups}")
    return figures


def _compare_group(java: JavaAssignors, figures: Figures, name: str) -> None:
    group, pick = Group(Random(name), figures.assignor), FirstOfHashSet()
    leader = _leader(figures.assignor, pick)
    java.make(figures.assignor)
    for number in group.rebalances():
        figures.assignments += 1
        case = _Case(group, java)
        assignment = leader.assign(case.partitions, case.subscriptions)
        excuse, differences = case.compared(assignment)
        if excuse:
            figures.excused[excuse] += 1
        differences += _compare_bytes(java, figures, case.subscriptions, assignment)
        figures.differences += [f"{name}, rebalance {number}: {text}" for text in differences]
        group.rebalanced(assignment)
    figures.hash_choices += pick.choices


def _leader(assignor: str, pick: FirstOfHashSet) -> Assignor:
    for sticky in (StickyAssignor, CooperativeStickyAssignor):
        if sticky.name == assignor:
            return sticky(pick)
    return ASSIGNORS[assignor]()


class _Case:
    """One rebalance: the input in Java's order, and Java's answer."""

    def __init__(self, group: Group, java: JavaAssignors) -> None:
        partitions = group.partitions()
        members = {name: (member.instance, member.subscription()) for name, member in group.members.items()}
        self._java: JavaAnswer = java.assign(partitions, members)
        self.partitions = {topic: partitions[topic] for topic in self._java.topics}
        self.subscriptions = {
            name: replace(decode_subscription(members[name][1]), group_instance_id=members[name][0])
            for name in self._java.members
        }

    def compared(self, assignment: Assignment) -> tuple[str | None, list[str]]:
        """Return the name of the excuse for a difference, if there is one, and the differences without excuse."""
        broken = broken_promises(
            self.partitions, self.subscriptions, assignment, withheld=self._withheld(assignment)
        )
        encoded = {member: encode_assignment(partitions) for member, partitions in assignment.items()}
        if encoded == self._java.assignment:
            return None, broken
        if excuse := self._excuse():
            return excuse, broken
        return None, [*broken, f"Java assigns {_decoded(self._java.assignment)}, the reference {assignment}"]

    def _withheld(self, assignment: Assignment) -> set[TopicPartition]:
        """Return the partitions without owner that a member still has to give up."""
        had = {partition for told in self.subscriptions.values() for partition in told.owned_partitions}
        return had.difference(*assignment.values())

    def _excuse(self) -> str | None:
        topics = [set(told.topics) for told in self.subscriptions.values()]
        if not topics[0] and len({frozenset(each) for each in topics if each}) == 1:
            return TOPICLESS
        is_wrong = self._java.failed or self._is_assigned_wrongly() or self._is_withheld_for_former_reader()
        return FORMER_READER if is_wrong else None

    def _is_assigned_wrongly(self) -> bool:
        return any(
            topic not in self.subscriptions[member].topics
            for member, partitions in _decoded(self._java.assignment).items()
            for topic, _ in partitions
        )

    def _is_withheld_for_former_reader(self) -> bool:
        """Return whether a partition that Java assigns to no member was told by one that no longer subscribes to it."""
        had = {
            partition
            for told in self.subscriptions.values()
            for partition in told.owned_partitions
            if partition[0] not in told.topics and partition[0] in self.partitions
        }
        return not had <= {each for owned in _decoded(self._java.assignment).values() for each in owned}


def _compare_bytes(
    java: JavaAssignors, figures: Figures, subscriptions: Mapping[str, Subscription], assignment: Assignment
) -> Iterator[str]:
    """Yield the differences between the bytes of subscriptions, assignments and user data.

    Java decodes what the reference client encoded, and encodes it again. Equal bytes show both directions.
    """
    for member, partitions in assignment.items():
        for version in range(HIGHEST_VERSION + 1):
            subscription = encode_subscription(subscriptions[member], version)
            yield from _unequal(
                "subscription", subscription, java.encoded("subscription", version, subscription)
            )
            assigned = encode_assignment(partitions, subscriptions[member].user_data, version)
            yield from _unequal("assignment", assigned, java.encoded("assignment", version, assigned))
        theirs = java.told(figures.assignments, encode_assignment(partitions))
        own = ASSIGNORS[figures.assignor]()
        own.on_assignment(_in_order_of(theirs, partitions, figures.assignor), figures.assignments)
        yield from _unequal("user data", own.subscription_user_data(()), theirs)
        figures.encodings += 2 * (HIGHEST_VERSION + 1) + 1


def _in_order_of(
    user_data: bytes | None, partitions: list[TopicPartition], assignor: str
) -> Sequence[TopicPartition]:
    """Return the partitions in the order of Java's user data, in which a HashMap orders the topics of sticky."""
    if assignor != StickyAssignor.name or user_data is None:
        return partitions
    theirs = decode_owned(user_data).partitions
    return theirs if sorted(theirs) == sorted(partitions) else partitions


def _unequal(what: str, ours: bytes | None, theirs: bytes | None) -> Iterator[str]:
    if ours != theirs:
        yield f"the {what} has the bytes {_hex(ours)}, in Java {_hex(theirs)}"


def _hex(data: bytes | None) -> str:
    return "none" if data is None else data.hex()


def _decoded(assignment: Mapping[str, bytes]) -> Assignment:
    return {member: list(decode_assignment(data).partitions) for member, data in assignment.items()}
