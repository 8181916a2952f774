"""Groups of KIP-848: epochs, assignments, revocation, fencing, static members, regular expressions."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.brokers.scripted.groups.server_assignors import ASSIGNORS, Subscriber
from harness.wire.apis import Api
from harness.wire.messages import message_class, nested
from tests.harness.brokers.scripted.groups import MS, Member, build

FENCED_EPOCH, UNRELEASED, UNSUPPORTED_ASSIGNOR, STALE_EPOCH = 110, 111, 112, 113


class Consumer(Member):
    """A member that keeps what it was assigned, and owns it until it is told otherwise."""

    def __init__(self, it: Any, name: str, instance: str | None = None, **given: Any) -> None:
        super().__init__(it, instance, **given)
        self.member_id, self.epoch = name, 0
        self.owned: set[tuple[UUID, int]] = set()

    def beat(self, **values: Any) -> Any:
        """Send a heartbeat, and take the epoch and the assignment of the response."""
        kind = message_class(Api.CONSUMER_GROUP_HEARTBEAT, 1, "request")
        named = nested(kind, "TopicPartitions")
        owned = None
        if values.pop("says", True):
            topics = {topic for topic, _ in self.owned}
            owned = tuple(
                named(topic_id=topic, partitions=tuple(sorted(i for t, i in self.owned if t == topic)))
                for topic in topics
            )
        given = {
            "member_epoch": self.epoch,
            "instance_id": self.instance,
            "topic_partitions": owned,
            "rebalance_timeout": timedelta(milliseconds=-1),
        }
        values = given | values
        body = self.ask(Api.CONSUMER_GROUP_HEARTBEAT, 1, **values).body
        if body.error_code == 0 and values["member_epoch"] >= 0:
            self.epoch = body.member_epoch
        if body.assignment is not None:
            self.owned = {
                (each.topic_id, i) for each in body.assignment.topic_partitions for i in each.partitions
            }
        return body

    def enter(self, *topics: str, **values: Any) -> Any:
        self.epoch, self.owned = 0, set()
        given = {
            "subscribed_topic_names": topics or ("t",),
            "rebalance_timeout": timedelta(milliseconds=60_000),
        }
        return self.beat(**(given | values))

    def leave(self, epoch: int = -1) -> Any:
        return self.beat(member_epoch=epoch)

    def leave_classic(self) -> int:
        """Leave by the request of classic groups, and return the member's error."""
        return int(super().leave().members[0].error_code)

    @property
    def indexes(self) -> list[int]:
        return sorted(index for _, index in self.owned)


def test_a_member_joins_and_gets_everything(client):
    it = client()
    member = Consumer(it, "a")
    body = member.enter()
    assert (body.error_code, body.member_epoch, body.member_id) == (0, 2, "a")
    assert body.heartbeat_interval == timedelta(seconds=1)
    assert member.indexes == [0, 1, 2]
    assert member.beat(says=False).assignment is None


def test_partitions_move_only_after_they_were_given_up(client):
    it = client()
    first, second = Consumer(it, "a"), Consumer(it, "b")
    first.enter()
    second.enter()
    assert (second.epoch, second.indexes) == (3, [])
    body = first.beat(says=False)
    assert (body.member_epoch, first.indexes) == (2, [0, 1])
    assert second.beat().assignment is None
    assert first.beat().member_epoch == 3
    second.beat()
    assert second.indexes == [2]
    assert it.cluster.consumer_group("g").state == "Stable"


def test_a_lost_response_is_no_reason_to_fence(client):
    it = client()
    first = Consumer(it, "a")
    first.enter()
    second = Consumer(it, "b")
    second.enter()
    first.beat()
    first.beat()
    assert first.epoch == 3
    assert first.beat(member_epoch=2).error_code == 0
    assert first.beat(member_epoch=2, says=False).error_code == FENCED_EPOCH
    assert first.beat(member_epoch=7).error_code == FENCED_EPOCH
    assert Consumer(it, "x").beat(member_epoch=1).error_code == 25


def test_a_member_that_does_not_give_up_is_fenced(client):
    it = client()
    first, second = Consumer(it, "a"), Consumer(it, "b")
    first.enter()
    second.enter()
    for second_s in range(0, 65, 5):
        it.now_ns = second_s * 1_000 * MS
        first.beat(says=False)
        second.beat()
    assert first.beat().error_code == 25
    assert second.indexes == [0, 1, 2]


def test_a_silent_member_is_fenced_after_its_session(client):
    it = client()
    first = Consumer(it, "a")
    first.enter()
    it.cluster.wake(5_999 * MS)
    assert it.cluster.consumer_group("g").members
    it.cluster.wake(6_000 * MS)
    assert it.cluster.consumer_group("g").state == "Empty"


def test_static_members_keep_their_place(client):
    it = client()
    old, new = Consumer(it, "a", "i"), Consumer(it, "b", "i")
    old.enter()
    assert new.enter().error_code == UNRELEASED
    old.leave(-2)
    assert new.enter().error_code == 0
    assert (new.epoch, new.indexes) == (2, [0, 1, 2])
    assert old.beat(member_epoch=1).error_code == 82
    assert new.leave().member_epoch == -1
    assert not it.cluster.consumer_group("g").members


def test_a_regular_expression_follows_the_topics(client):
    it = client()
    member = Consumer(it, "a")
    member.enter(subscribed_topic_names=None, subscribed_topic_regex="t|u.*")
    assert len(member.owned) == 3
    it.cluster.create_topic("users", 2)
    member.beat()
    assert (member.epoch, len(member.owned)) == (3, 5)
    assert member.beat(subscribed_topic_regex="(").error_code == 128


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"group_id": ""}, 42),
        ({"instance_id": ""}, 42),
        ({"member_id": ""}, 42),
        ({"member_epoch": -3}, 42),
        ({"subscribed_topic_names": None}, 42),
        ({"says": False}, 42),
        ({"rebalance_timeout": timedelta(milliseconds=-1)}, 42),
        ({"server_assignor": "none"}, UNSUPPORTED_ASSIGNOR),
    ],
)
def test_contradictions_are_refused(client, values, code):
    assert Consumer(client(), "a").enter(**values).error_code == code


def test_commits_need_the_current_epoch(client):
    it = client()
    member = Consumer(it, "a")
    member.enter()
    member.generation = member.epoch
    assert member.commit(4) == 0
    member.generation = 0
    assert member.commit(5) == STALE_EPOCH
    assert Member(it).join(protocol_type="connect").body.error_code == 23
    assert Member(it).fetch().committed_offset == 4


def test_an_older_epoch_commits_what_was_assigned_in_it(client):
    it = client()
    first, second = Consumer(it, "a"), Consumer(it, "b")
    first.enter()
    second.enter()
    first.beat()
    first.beat()
    first.generation = 2
    assert (first.epoch, first.commit(1, partition=0)) == (3, 0)
    second.beat()
    second.generation = 2
    assert second.commit(1, partition=2) == STALE_EPOCH
    assert first.commit(1, partition=2) == STALE_EPOCH


def test_an_empty_group_takes_commits_without_a_generation(client):
    it = client()
    member = Consumer(it, "a")
    member.enter()
    member.leave()
    member.generation = 2
    assert member.commit(1) == 25
    assert Member(it).commit(1) == 0
    assert it.cluster.consumer_group("g") is not None


def test_a_member_joins_again_with_epoch_0_and_keeps_its_place(client):
    it = client()
    member = Consumer(it, "a")
    member.enter()
    member.enter()
    assert (member.epoch, member.indexes) == (2, [0, 1, 2])
    assert member.enter(subscribed_topic_names=()).error_code == 0
    assert (member.epoch, member.indexes) == (3, [])
    member.instance = "i"
    member.enter(subscribed_topic_names=())
    assert (member.epoch, len(it.cluster.consumer_group("g").members)) == (3, 1)


def test_a_member_that_leaves_changes_the_group_epoch_once(client):
    it = client()
    first, second = Consumer(it, "a"), Consumer(it, "b")
    it.cluster.create_topic("u", 1)
    first.enter()
    second.enter("u")
    second.leave()
    assert first.beat().member_epoch == 4
    assert it.cluster.consumer_group("g").epoch == 4


def test_topics_that_are_not_subscribed_any_more_are_given_up_at_once(client):
    it = client()
    it.cluster.create_topic("u", 1)
    member = Consumer(it, "a")
    member.enter("t", "u")
    member.beat(subscribed_topic_names=("u",), says=False)
    assert (member.epoch, member.indexes) == (2, [0])
    assert member.beat().member_epoch == 3


def test_a_described_assignment_has_what_is_not_given_up_yet(client):
    it = client()
    first, second = Consumer(it, "a"), Consumer(it, "b")
    first.enter()
    second.enter()
    first.beat(says=False)
    kind = message_class(Api.CONSUMER_GROUP_DESCRIBE, 1, "request")
    [group] = it.send(1, build(kind, group_ids=("g",), include_authorized_operations=False)).body.groups
    assert group.members[0].assignment.topic_partitions[0].partitions == (0, 1, 2)
    assert group.members[0].subscribed_topic_regex == ""


def test_members_may_leave_by_leave_group(client):
    it = client()
    member, static = Consumer(it, "a"), Consumer(it, "b", "i")
    member.enter()
    static.enter()
    assert [each.leave_classic() for each in (member, static)] == [0, 0]
    assert not it.cluster.consumer_group("g").members
    assert member.leave_classic() == 25


def test_a_uniform_assignor_leaves_the_extra_partition_where_it_is(client):
    it = client(partitions=2)
    late = Consumer(it, "b")
    late.enter()
    it.cluster.add_partitions("t", 3)
    late.beat()
    early = Consumer(it, "a")
    early.enter()
    late.beat()
    late.beat()
    early.beat()
    assert (early.indexes, late.indexes) == ([2], [0, 1])


def test_another_coordinator_knows_the_members(client):
    it = client(nodes=3)
    node = it.cluster.coordinator("g")
    member = Consumer(it, "a", node_id=node)
    member.enter()
    it.cluster.kill(node, 0)
    member.node_id = it.cluster.coordinator("g")
    assert member.beat().error_code == 0
    assert member.epoch == 2
    it.cluster.inject_error(Api.CONSUMER_GROUP_HEARTBEAT, 16, 1, skip=1)
    assert [member.beat().error_code for _ in range(3)] == [0, 16, 0]


def test_groups_are_listed_and_described(client):
    it = client()
    member = Consumer(it, "a")
    member.enter(server_assignor="range")
    kind = message_class(Api.LIST_GROUPS, 5, "request")
    [listed] = it.send(1, kind(states_filter=(), types_filter=("consumer",))).body.groups
    assert (listed.group_id, listed.group_state) == ("g", "Stable")
    kind = message_class(Api.CONSUMER_GROUP_DESCRIBE, 1, "request")
    asked = build(kind, group_ids=("g", "h"), include_authorized_operations=False)
    known, unknown = it.send(1, asked).body.groups
    assert (known.assignor_name, known.group_epoch, unknown.error_code) == ("range", 2, 69)
    assert known.members[0].assignment.topic_partitions[0].partitions == (0, 1, 2)


STEPS = st.lists(
    st.tuples(st.sampled_from(["enter", "beat", "quiet", "leave", "wait"]), st.integers(0, 3)), max_size=40
)


@settings(max_examples=150)
@given(STEPS, st.sampled_from(list(ASSIGNORS)))
def test_no_partition_has_two_owners_and_in_the_end_each_has_one(client, steps, assignor):
    it = client(partitions=5)
    members = [Consumer(it, name) for name in "abcd"]
    inside: set[Consumer] = set()

    def alone() -> bool:
        owned = Counter(each for member in inside for each in member.owned)
        return all(count == 1 for count in owned.values())

    def step(action: str, member: Consumer) -> None:
        if action == "enter" and member not in inside:
            member.enter(server_assignor=assignor)
            inside.add(member)
        elif action in ("beat", "quiet") and member in inside:
            assert member.beat(says=action == "beat").error_code == 0
        elif action == "leave" and member in inside:
            member.leave()
            inside.discard(member)
        elif action == "wait":
            it.now_ns += 1_000 * MS
            for each in in_order():
                step("quiet", each)

    def in_order() -> list[Consumer]:
        return sorted(inside, key=lambda each: each.member_id)

    for action, at in steps:
        step(action, members[at])
        assert alone()
    for _ in range(2 * len(members)):
        for member in in_order():
            step("beat", member)
            assert alone()
    if inside:
        assert len({each for member in inside for each in member.owned}) == 5
        assert it.cluster.consumer_group("g").state == "Stable"
        sizes = [len(member.owned) for member in inside]
        assert max(sizes) - min(sizes) <= 1


TOPICS = {UUID(int=number): count for number, count in enumerate((1, 3, 4), 1)}


@given(
    st.sampled_from(list(ASSIGNORS)),
    st.dictionaries(st.sampled_from("abcde"), st.sets(st.sampled_from(list(TOPICS))), min_size=1),
    st.data(),
)
def test_assignors_give_every_subscribed_partition_to_one_subscriber(assignor, subscriptions, data):
    members = {name: Subscriber(frozenset(topics)) for name, topics in subscriptions.items()}
    for _ in range(2):
        made = ASSIGNORS[assignor](members, TOPICS)
        given_out = [partition for each in made.values() for partition in each]
        due = {(t, i) for topics in subscriptions.values() for t in topics for i in range(TOPICS[t])}
        assert len(given_out) == len(set(given_out)) and set(given_out) == due
        assert all(topic in members[name].topics for name, each in made.items() for topic, _ in each)
        gone = data.draw(st.sampled_from(sorted(members)))
        subscriptions = {name: each for name, each in subscriptions.items() if name != gone}
        if not subscriptions:
            break
        members = {name: Subscriber(frozenset(each), made[name]) for name, each in subscriptions.items()}
