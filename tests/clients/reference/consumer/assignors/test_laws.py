"""What holds for each assignor in every generation of a group, whatever happened to its members and topics."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from clients.reference.consumer.assignors import ASSIGNORS
from clients.reference.consumer.assignors.assignor import PartitionInfo, RebalanceProtocol, Subscription
from clients.reference.consumer.consumer_protocol import decode_subscription, encode_subscription
from testkit.assignors.groups import Group
from testkit.assignors.promises import broken_promises, imbalance

pytestmark = pytest.mark.long("rebalances many groups for many generations")

EVERY = pytest.mark.parametrize("assignor", ASSIGNORS)
STICKY = pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
SEEDS = st.integers(0, 2**32)
COUNTS = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 9), min_size=1)
MEMBERS = st.lists(st.sampled_from([f"m{number}" for number in range(9)]), min_size=1, unique=True)


def subscriptions_of(group):
    return {
        name: replace(decode_subscription(member.subscription()), group_instance_id=member.instance)
        for name, member in group.members.items()
    }


def rebalances(assignor, seed):
    """Yield the input and the result of every rebalance of a group."""
    group, leader = Group(Random(seed), assignor), ASSIGNORS[assignor]()
    for _ in group.rebalances():
        partitions, told = group.partitions(), subscriptions_of(group)
        assignment = leader.assign(partitions, told)
        yield partitions, told, assignment
        group.rebalanced(assignment)


def infos(counts):
    return {topic: [PartitionInfo(number) for number in range(count)] for topic, count in counts.items()}


class Peers:
    """Members of one group, all with the same topics, which miss no rebalance."""

    def __init__(self, assignor, counts):
        self.partitions = infos(counts)
        self.leader = ASSIGNORS[assignor]()
        self.assignor = assignor
        self.members = {}
        self.owned = {}
        self.generation = 0

    def settle(self, names):
        """Rebalance until the assignment has no more transfers, and return the assignments of all rebalances."""
        self.members = {name: self.members.get(name) or ASSIGNORS[self.assignor]() for name in names}
        self.owned = {name: self.owned.get(name, []) for name in names}
        results = [self.rebalance()]
        while any(set(results[-1][name]) != set(had) for name, had in self.before.items()):
            results.append(self.rebalance())
        return results

    def rebalance(self):
        is_cooperative = RebalanceProtocol.COOPERATIVE in self.leader.supported_protocols
        told = {
            name: decode_subscription(self._encoded(name, member, is_cooperative))
            for name, member in self.members.items()
        }
        self.before, self.generation = self.owned, self.generation + 1
        self.owned = self.leader.assign(self.partitions, told)
        for name, member in self.members.items():
            member.on_assignment(self.owned[name], self.generation)
        return self.owned

    def _encoded(self, name, member, is_cooperative):
        return encode_subscription(
            Subscription(
                topics=tuple(self.partitions),
                user_data=member.subscription_user_data(()),
                owned_partitions=tuple(self.owned[name]) if is_cooperative else (),
                generation_id=self.generation or None,
            )
        )


@EVERY
@given(seed=SEEDS)
def test_every_partition_has_exactly_one_owner_who_subscribes_to_it(assignor, seed):
    for partitions, told, assignment in rebalances(assignor, seed):
        had = {partition for each in told.values() for partition in each.owned_partitions}
        assert broken_promises(partitions, told, assignment, had.difference(*assignment.values())) == []


@pytest.mark.parametrize("assignor", ["range", "roundrobin"])
@given(seed=SEEDS)
def test_the_order_in_which_members_are_listed_changes_nothing(assignor, seed):
    for partitions, told, assignment in rebalances(assignor, seed):
        assert ASSIGNORS[assignor]().assign(partitions, dict(reversed(told.items()))) == assignment


@given(seed=SEEDS)
def test_range_is_balanced_for_each_topic_even_with_racks(seed):
    for partitions, told, assignment in rebalances("range", seed):
        for topic in partitions:
            counts = [
                sum(each[0] == topic for each in assignment[member])
                for member, subscription in told.items()
                if topic in subscription.topics
            ]
            assert max(counts) - min(counts) <= 1


@given(COUNTS, MEMBERS)
def test_range_assigns_consecutive_partitions_to_members_in_order(counts, members):
    assignment = Peers("range", counts).settle(members)[0]
    for topic, count in counts.items():
        in_order = [each for member in sorted(members) for each in assignment[member] if each[0] == topic]
        assert in_order == [(topic, number) for number in range(count)]


@EVERY
@given(counts=COUNTS, members=MEMBERS)
def test_equal_subscriptions_are_balanced(assignor, counts, members):
    if assignor == "range":
        counts = dict([next(iter(counts.items()))])
    assignment = Peers(assignor, counts).settle(members)[-1]
    sizes = [len(partitions) for partitions in assignment.values()]
    assert max(sizes) - min(sizes) <= 1


@given(COUNTS, st.data())
def test_sticky_balances_different_subscriptions_from_the_start(counts, data):
    """A first assignment leaves no partition whose move to another subscriber would make the two more equal."""
    topics = st.lists(st.sampled_from(sorted(counts)), unique=True).map(tuple)
    told = data.draw(st.dictionaries(st.sampled_from("klmnop"), topics.map(Subscription), min_size=1))
    assignment = ASSIGNORS["sticky"]().assign(infos(counts), told)
    assert imbalance(infos(counts), told, assignment) == []


@STICKY
@given(counts=COUNTS, members=MEMBERS)
def test_a_rebalance_without_a_change_moves_nothing(assignor, counts, members):
    peers = Peers(assignor, counts)
    before = peers.settle(members)[-1]
    assert {name: set(each) for name, each in peers.rebalance().items()} == {
        name: set(each) for name, each in before.items()
    }


@STICKY
@given(counts=COUNTS, first=MEMBERS, then=MEMBERS)
def test_a_member_keeps_what_its_share_allows(assignor, counts, first, then):
    """After members joined and left, each one that stayed has all that it had, or at least the smaller share."""
    peers = Peers(assignor, counts)
    before = peers.settle(first)[-1]
    after = peers.settle(then)[-1]
    share = sum(counts.values()) // len(then)
    for name in set(first) & set(then):
        assert len(set(before[name]) & set(after[name])) >= min(len(before[name]), share)


@STICKY
@given(counts=COUNTS, members=MEMBERS, data=st.data())
def test_no_partition_moves_between_members_that_stay_when_one_leaves(assignor, counts, members, data):
    assume(len(members) > 1)
    peers = Peers(assignor, counts)
    before = peers.settle(members)[-1]
    leaver = data.draw(st.sampled_from(members))
    after = peers.settle([name for name in members if name != leaver])[-1]
    assert all(set(before[name]) <= set(after[name]) for name in after)


@given(seed=SEEDS)
def test_cooperative_sticky_never_hands_over_a_partition_that_another_member_has(seed):
    """A partition that is new for a member is in no other member's subscription, so its owner has given it up."""
    for _, told, assignment in rebalances("cooperative-sticky", seed):
        for member, partitions in assignment.items():
            gained = set(partitions).difference(told[member].owned_partitions)
            others = [each.owned_partitions for name, each in told.items() if name != member]
            assert gained.isdisjoint(partition for owned in others for partition in owned)


@given(COUNTS, MEMBERS, MEMBERS)
def test_cooperative_sticky_needs_at_most_two_rebalances(counts, first, then):
    peers = Peers("cooperative-sticky", counts)
    peers.settle(first)
    *_, last = results = peers.settle(then)
    assert len(results) <= 3, "one that takes away, one that hands over, and one that changes nothing"
    assert sorted(each for partitions in last.values() for each in partitions) == sorted(
        (topic, number) for topic, count in counts.items() for number in range(count)
    )


@EVERY
@settings(max_examples=20)
@given(counts=COUNTS)
def test_a_group_without_members_has_no_assignment(assignor, counts):
    assert ASSIGNORS[assignor]().assign(infos(counts), {}) == {}
