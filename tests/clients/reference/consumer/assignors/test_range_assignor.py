"""Range with racks and co-partitioning, and the order of static members, on small cases."""

from __future__ import annotations

from clients.reference.consumer.assignors.assignor import PartitionInfo, Subscription
from clients.reference.consumer.assignors.range_assignor import RangeAssignor


def topic(*racks):
    """One partition for each argument, with a replica in each rack of the letters in it."""
    return [PartitionInfo(number, frozenset(letters)) for number, letters in enumerate(racks)]


def assigned(partitions, **racks):
    """Return the partitions of members that subscribe to everything, by member."""
    told = {name: Subscription(tuple(partitions), rack_id=rack) for name, rack in racks.items()}
    return {
        name: "".join(f"{topic}{number}" for topic, number in each)
        for name, each in RangeAssignor().assign(partitions, told).items()
    }


def test_members_get_partitions_with_a_replica_in_their_rack():
    assert assigned({"t": topic("b", "a", "b", "a")}, m1="a", m2="b") == {"m1": "t1t3", "m2": "t0t2"}


def test_balance_comes_before_racks():
    assert assigned({"t": topic("a", "a", "a", "b")}, m1="a", m2="b") == {"m1": "t0t1", "m2": "t2t3"}


def test_racks_have_no_effect_if_every_partition_is_in_all_of_them():
    assert assigned({"t": topic("ab", "ab")}, m1="b", m2="a") == {"m1": "t0", "m2": "t1"}


def test_racks_have_no_effect_if_no_member_is_in_a_rack_with_replicas():
    assert assigned({"t": topic("b", "a")}, m1="c", m2=None) == {"m1": "t0", "m2": "t1"}


def test_co_partitioned_topics_give_each_member_the_same_numbers():
    partitions = {"t": topic("b", "a"), "u": topic("b", "a")}
    assert assigned(partitions, m1="a", m2="b") == {"m1": "t1u1", "m2": "t0u0"}


def test_co_partitioning_comes_before_racks():
    """The racks match in t alone. Both topics are then assigned as without racks."""
    partitions = {"t": topic("b", "a"), "u": topic("a", "b")}
    assert assigned(partitions, m1="a", m2="b") == {"m1": "t0u0", "m2": "t1u1"}


def test_topics_with_different_numbers_of_partitions_match_racks_alone():
    partitions = {"t": topic("b", "a"), "u": topic("a", "b", "b")}
    assert assigned(partitions, m1="a", m2="b") == {"m1": "t1u0", "m2": "t0u1u2"}


def test_static_members_come_first_by_instance_id():
    told = {
        "a": Subscription(("t",)),
        "b": Subscription(("t",), group_instance_id="2"),
        "c": Subscription(("t",), group_instance_id="1"),
    }
    assignment = RangeAssignor().assign({"t": topic("", "", "")}, told)
    assert assignment == {"c": [("t", 0)], "b": [("t", 1)], "a": [("t", 2)]}
