"""Each promise can be broken, and the comparison's hash set has Java's order."""

from __future__ import annotations

import pytest

from clients.reference.consumer.assignors.assignor import PartitionInfo, Subscription
from testkit.assignors.hash_set import FirstOfHashSet
from testkit.assignors.promises import broken_promises, imbalance

PARTITIONS = {"t": [PartitionInfo(0), PartitionInfo(1)]}
TOLD = {"a": Subscription(("t",)), "b": Subscription(("t",)), "c": Subscription(())}
KEPT = {"a": [("t", 0)], "b": [("t", 1)], "c": []}


def test_a_complete_assignment_breaks_no_promise():
    assert broken_promises(PARTITIONS, TOLD, KEPT) == []
    assert broken_promises(PARTITIONS, TOLD, KEPT | {"b": []}, withheld={("t", 1)}) == []


@pytest.mark.parametrize(
    "change",
    [
        {"b": []},
        {"b": [("t", 0), ("t", 1)]},
        {"b": [], "c": [("t", 1)]},
        {"b": [("t", 1), ("t", 2)]},
        {"d": []},
    ],
    ids=["no owner", "two owners", "not subscribed", "does not exist", "not a member"],
)
def test_each_broken_promise_is_told(change):
    assert len(broken_promises(PARTITIONS, TOLD, KEPT | change)) == 1


def test_a_partition_that_could_move_is_an_imbalance():
    assert imbalance(PARTITIONS, TOLD, KEPT) == []
    assert imbalance(PARTITIONS, TOLD, KEPT | {"a": [("t", 0), ("t", 1)], "b": []}) == [("t", 0), ("t", 1)]


def test_the_hash_set_counts_only_real_choices():
    pick = FirstOfHashSet()
    assert pick([("t", 5)]) == ("t", 5)
    assert pick.choices == 0
    assert pick([("t", 0), ("t", 1)]) == ("t", 1)
    assert pick.choices == 1
