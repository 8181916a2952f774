"""Who keeps a partition that two members claim, and members that missed a generation."""

from __future__ import annotations

import pytest

from clients.reference.consumer.assignors.assignor import PartitionInfo, Subscription
from clients.reference.consumer.assignors.sticky.cooperative_sticky_assignor import CooperativeStickyAssignor
from clients.reference.consumer.assignors.sticky.sticky_assignor import StickyAssignor
from clients.reference.consumer.assignors.sticky.user_data import encode_owned

TWO, FOUR = ({"t": [PartitionInfo(number) for number in range(count)]} for count in (2, 4))


def claim(generation, *numbers, topics=("t",)):
    owned = tuple(("t", number) for number in numbers)
    return Subscription(topics, encode_owned(owned, generation), owned, generation)


@pytest.mark.parametrize("order", ["ab", "ba"])
@pytest.mark.parametrize("assignor", [StickyAssignor, CooperativeStickyAssignor])
def test_the_newer_generation_keeps_a_partition(assignor, order):
    told = {"a": claim(1, 0), "b": claim(2, 0)}
    assignment = assignor().assign(TWO, {name: told[name] for name in order})
    assert assignment == {"a": [("t", 1)], "b": [("t", 0)]}


def test_in_the_same_generation_neither_keeps_it_and_both_must_give_it_up():
    assignment = CooperativeStickyAssignor().assign(TWO, {"a": claim(1, 0), "b": claim(1, 0)})
    assert assignment == {"a": [], "b": [("t", 1)]}


def test_a_partition_that_moves_is_left_out_until_its_owner_gave_it_up():
    assignor = CooperativeStickyAssignor()
    told = {"a": claim(1, 0, 1, 2, 3), "b": Subscription(("t",))}
    assert assignor.assign(FOUR, told) == {"a": [("t", 0), ("t", 1)], "b": []}
    told = {"a": claim(2, 0, 1), "b": claim(2)}
    assert assignor.assign(FOUR, told) == {"a": [("t", 0), ("t", 1)], "b": [("t", 2), ("t", 3)]}


def test_a_partition_does_not_return_to_a_member_that_no_longer_subscribes_to_its_topic():
    """Java assigns it to that member, which refuses it (GeneralAssignmentBuilder.performReassignments)."""
    partitions = FOUR | {"u": [PartitionInfo(0)]}
    told = {"former": claim(1, 0, 1, topics=("u",)), "b": claim(3, 0, 1, 2, 3), "c": claim(3)}
    assignment = StickyAssignor().assign(partitions, told)
    assert assignment["former"] == [("u", 0)]
    assert sorted(assignment["b"] + assignment["c"]) == [("t", number) for number in range(4)]


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_a_member_without_topics_is_assigned_nothing(order):
    """In Java, one that comes first is treated like the others (AbstractStickyAssignor.allSubscriptionsEqual)."""
    told = {"a": Subscription(()), "b": Subscription(("t",))}
    assignment = StickyAssignor().assign(TWO, {name: told[name] for name in order})
    assert assignment == {"a": [], "b": [("t", 0), ("t", 1)]}


def test_partitions_that_do_not_exist_any_more_are_forgotten():
    assert StickyAssignor().assign(TWO, {"a": claim(1, 1, 7)}) == {"a": [("t", 1), ("t", 0)]}
