"""Groups that change between the classic protocol and KIP-848 while they are in use."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.consumer.assignors.assignor import Subscription
from clients.reference.consumer.consumer_protocol import (
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from harness.wire.apis import Api
from harness.wire.embedded_protocol import (
    read_assignment,
    read_subscription,
    write_assignment,
)
from harness.wire.errors import WireError
from harness.wire.messages import message_class, nested
from tests.harness.brokers.scripted.groups import MS, Call, Member
from tests.harness.brokers.scripted.test_consumer_groups import Consumer

ILLEGAL_GENERATION, INCONSISTENT, UNKNOWN_MEMBER, REBALANCE, NOT_FOUND, REQUIRED = 22, 23, 25, 27, 69, 79
PARTITIONS = 3


class Classic(Member):
    """A member of the classic protocol with a subscription, which owns what it was assigned.

    A cooperative one keeps that while it joins again; another one gives everything up first.
    """

    def __init__(self, it: Any, instance: str | None = None, *, is_cooperative: bool = False) -> None:
        super().__init__(it, instance)
        self.is_cooperative = is_cooperative
        self.owned: set[int] = set()

    def ask_to_join(self, *names: str) -> Call:
        if not self.is_cooperative:
            self.owned = set()
        owned = tuple(("t", index) for index in sorted(self.owned))
        metadata = encode_subscription(Subscription(("t",), owned_partitions=owned))
        kind = nested(message_class(Api.JOIN_GROUP, 9, "request"), "JoinGroupRequestProtocol")
        protocols = tuple(kind(name=name, metadata=metadata) for name in names or ("range",))
        return self.enter("unused", protocols=protocols)

    def take(self, assignments: dict[str, bytes] | None = None) -> int:
        """Ask for the assignment. Return the error."""
        body = self.sync(assignments).body
        if body.error_code == 0:
            self.owned = {index for _, index in decode_assignment(body.assignment).partitions}
        return int(body.error_code)

    def rejoin(self) -> None:
        """Join again, and ask for the assignment."""
        self.took(self.ask_to_join())
        assert self.take() == 0


def alone(it: Any, instance: str | None = None, **given: Any) -> Classic:
    """Return the only member of a stable classic group, which owns every partition."""
    it.cluster.settings.group_initial_rebalance_delay_ms = 1
    member = Classic(it, instance, **given)
    call = member.ask_to_join()
    it.now_ns += 2 * MS
    it.cluster.wake(it.now_ns)
    member.took(call)
    everything = encode_assignment([("t", index) for index in range(PARTITIONS)])
    assert member.take({member.member_id: everything}) == 0
    assert member.owned == set(range(PARTITIONS))
    return member


def upgrade(it: Any, **given: Any) -> tuple[Classic, Consumer]:
    """Return a classic member and the member of KIP-848 that has joined its group."""
    classic = alone(it, **given)
    consumer = Consumer(it, "zz")
    assert consumer.enter().error_code == 0
    return classic, consumer


def test_the_first_member_of_kip_848_upgrades_the_group(client):
    it = client()
    classic, consumer = upgrade(it)
    assert it.cluster.group("g") is None
    group = it.cluster.consumer_group("g")
    assert classic.generation == 1
    assert (group.epoch, consumer.epoch, consumer.owned) == (2, 2, set())
    assert group.members[classic.member_id].epoch == 1
    assert classic.beat() == REBALANCE
    classic.rejoin()
    assert classic.generation == 2
    consumer.beat()
    assert len(classic.owned) + len(consumer.owned) == PARTITIONS
    assert not classic.owned & set(consumer.indexes)
    assert classic.beat() == 0


def test_a_cooperative_member_gives_up_first_and_keeps_the_rest(client):
    it = client()
    classic, consumer = upgrade(it, is_cooperative=True)
    assert classic.beat() == REBALANCE
    classic.rejoin()
    assert classic.generation == 1, "its epoch rises when it has given up"
    consumer.beat()
    assert len(classic.owned) in (1, 2)
    assert consumer.owned == set(), "it still has them, as far as the group knows"
    assert classic.beat() == REBALANCE
    classic.rejoin()
    assert classic.generation == 2
    consumer.beat()
    assert len(classic.owned) + len(consumer.owned) == PARTITIONS


def test_requests_that_wait_are_told_to_join_again(client):
    it = client()
    first = alone(it)
    second = Classic(it)
    waiting = second.ask_to_join()
    assert waiting.body is None
    Consumer(it, "zz").enter()
    assert waiting.body.error_code == REBALANCE
    assert waiting.body.member_id == second.member_id
    second.rejoin()
    assert second.generation == it.cluster.consumer_group("g").epoch
    assert first.beat() == REBALANCE


def test_the_last_member_of_kip_848_downgrades_the_group(client):
    it = client()
    classic, consumer = upgrade(it)
    classic.rejoin()
    consumer.beat()
    consumer.leave()
    group = it.cluster.group("g")
    assert it.cluster.consumer_group("g") is None
    assert (group.state, group.generation_id, group.leader_id) == ("PreparingRebalance", 2, classic.member_id)
    assert classic.beat() == REBALANCE
    body = classic.took(classic.ask_to_join())
    assert (body.generation_id, body.leader) == (3, classic.member_id)


def test_a_fenced_member_of_kip_848_downgrades_the_group(client):
    it = client()
    classic, consumer = upgrade(it)
    classic.rejoin()
    while it.cluster.consumer_group("g") is not None:
        assert classic.beat() in (0, REBALANCE)
        it.now_ns += 1_000 * MS
        it.cluster.wake(it.now_ns)
    assert it.cluster.consumer_group("g") is None
    assert classic.member_id in it.cluster.group("g").members
    assert consumer.beat().error_code == NOT_FOUND


def test_a_member_that_does_not_join_the_upgraded_group_is_fenced(client):
    it = client()
    classic, consumer = upgrade(it)
    for _ in range(30):
        assert classic.beat() == REBALANCE
        assert consumer.beat().error_code == 0
        it.now_ns += 1_000 * MS
        it.cluster.wake(it.now_ns)
    assert classic.beat() == UNKNOWN_MEMBER
    consumer.beat()
    assert consumer.indexes == list(range(PARTITIONS))


def test_a_member_that_does_not_ask_for_its_assignment_is_fenced(client):
    it = client()
    classic, consumer = upgrade(it)
    classic.took(classic.ask_to_join())
    for _ in range(30):
        assert classic.beat() in (0, REBALANCE)
        consumer.beat()
        it.now_ns += 1_000 * MS
        it.cluster.wake(it.now_ns)
    assert classic.beat() == UNKNOWN_MEMBER


def test_classic_members_are_checked_as_in_a_classic_group(client):
    it = client()
    classic, consumer = upgrade(it)
    assert classic.commit(4) == 0
    assert classic.beat(generation_id=7) == ILLEGAL_GENERATION
    assert classic.commit(5, generation_id_or_member_epoch=7) == ILLEGAL_GENERATION
    assert classic.sync(generation_id=7).body.error_code == ILLEGAL_GENERATION
    assert classic.sync(protocol_name="sticky").body.error_code == INCONSISTENT
    assert classic.take() == REBALANCE
    assert Classic(it).ask_to_join("sticky").body.error_code == INCONSISTENT
    assert Classic(it).join(protocol_type="connect").body.error_code == INCONSISTENT
    assert Classic(it).join().body.error_code == REQUIRED
    stranger = Classic(it)
    stranger.member_id = "unknown"
    assert stranger.beat() == UNKNOWN_MEMBER
    imposter = Classic(it)
    imposter.member_id, imposter.generation = consumer.member_id, consumer.epoch
    assert imposter.beat() == UNKNOWN_MEMBER
    assert classic.leave().members[0].error_code == 0
    consumer.beat()
    assert consumer.indexes == list(range(PARTITIONS))


def test_a_static_member_keeps_its_place_and_both_ways(client):
    it = client()
    classic = alone(it, "i")
    consumer = Consumer(it, "zz", "i")
    assert consumer.enter().error_code == 0
    assert consumer.indexes == list(range(PARTITIONS))
    assert classic.beat() == 82
    back = Classic(it, "i")
    back.took(back.ask_to_join())
    assert it.cluster.consumer_group("g") is None
    assert it.cluster.group("g").state == "Stable"
    assert back.take() == 0
    assert back.owned == set(range(PARTITIONS))


def test_a_group_of_another_type_is_not_upgraded(client):
    it = client()
    member = Member(it)
    member.took(member.enter(protocol_type="connect"))
    assert Consumer(it, "zz").enter().error_code == NOT_FOUND
    assert member.member_id in it.cluster.group("g").members


def test_metadata_that_is_no_subscription_is_not_upgraded(client):
    it = client()
    it.cluster.settings.group_initial_rebalance_delay_ms = 1
    member = Member(it)
    call = member.enter()
    it.now_ns += 2 * MS
    it.cluster.wake(it.now_ns)
    member.took(call)
    member.sync({member.member_id: b""})
    assert Consumer(it, "zz").enter().error_code == NOT_FOUND
    assert member.beat() == 0


@given(
    st.frozensets(st.sampled_from("abc")),
    st.frozensets(st.tuples(st.sampled_from("abc"), st.integers(0, 4))),
    st.integers(0, 3),
)
def test_a_coordinator_reads_what_members_write(topics, owned, version):
    written = encode_subscription(Subscription(tuple(topics), owned_partitions=tuple(sorted(owned))), version)
    known = owned if version else frozenset()
    assert read_subscription(written) == (topics, known)
    assert frozenset(decode_assignment(write_assignment(owned, written)).partitions) == owned
    assert read_assignment(encode_assignment(sorted(owned), b"own", version)) == (owned, b"own")


@given(st.binary(max_size=40))
def test_bytes_that_are_no_subscription_are_refused(data):
    try:
        read_subscription(data)
    except WireError as error:
        assert error.code
    with pytest.raises(WireError):
        read_subscription(data[:1])
