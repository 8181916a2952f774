"""Offsets that are committed with a transaction: pending until it ends, and only for members that are still there."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode

from harness.brokers.scripted.transactions.states import TransactionState
from tests.harness.brokers.scripted.groups import stable
from tests.harness.brokers.scripted.test_consumer_groups import Consumer
from tests.harness.brokers.scripted.transactions import V1, V2, Transactor

OK, UNSTABLE = ErrorCode.none, ErrorCode.unstable_offset_commit
BOTH = pytest.mark.parametrize("versions", [V1, V2], ids=["v1", "v2"])


def begun(it, versions=None, name="x"):
    producer = Transactor(it, name, versions)
    assert producer.init() is OK
    assert producer.add_offsets() is OK
    return producer


@BOTH
@pytest.mark.parametrize(("commits", "offset"), [(True, 7), (False, 3)])
def test_offsets_are_pending_until_the_transaction_ends(client, versions, commits, offset):
    it = client()
    it.cluster.commit("g", "t", 0, 3)
    producer = begun(it, versions)
    assert producer.fetched() == (OK, 3)
    assert producer.commit_offset(7) is OK
    assert producer.fetched() == (UNSTABLE, -1)
    assert producer.fetched(stable=False) == (OK, 3)
    assert producer.fetched(1) == (OK, -1)
    assert producer.end(commits=commits) is OK
    assert producer.fetched() == (OK, offset)


def test_offsets_stay_pending_while_the_markers_wait_for_their_coordinator(client):
    it = client(nodes=3)
    producer = begun(it)
    group = next(f"g{at}" for at in range(9) if it.cluster.coordinator(f"g{at}") != producer.node_id)
    assert producer.commit_offset(7, group=group) is OK
    node_id = it.cluster.coordinator(group)
    it.cluster.pause(node_id)
    assert producer.end() is OK
    assert it.cluster.transaction("x").state is TransactionState.PREPARE_COMMIT
    it.cluster.resume(node_id)
    it.cluster.wake(it.now_ns)
    assert it.cluster.transaction("x").state is TransactionState.COMPLETE_COMMIT
    assert producer.fetched(group=group) == (OK, 7)


def test_since_kip_890_the_coordinator_of_the_group_adds_it_to_the_transaction(client):
    it = client()
    old, new = Transactor(it, "old", V1), Transactor(it, "new", V2)
    assert (old.init(), new.init()) == (OK, OK)
    assert old.commit_offset(1) is ErrorCode.transaction_abortable
    assert old.commit_offset(1, version=3) is ErrorCode.invalid_txn_state
    assert new.commit_offset(1) is OK
    assert new.end() is OK
    assert new.fetched() == (OK, 1)


def test_a_later_commit_outside_of_the_transaction_stays(client):
    it = client()
    producer = begun(it)
    assert producer.commit_offset(7) is OK
    it.cluster.commit("g", "t", 0, 9)
    assert producer.end() is OK
    assert producer.fetched() == (OK, 9)


def test_each_transaction_has_its_own_pending_offsets(client):
    it = client()
    one, other = begun(it, name="x"), begun(it, name="y")
    assert (one.commit_offset(1), other.commit_offset(2), other.commit_offset(5, 1)) == (OK, OK, OK)
    assert other.end() is OK
    assert (one.fetched(), one.fetched(1)) == ((UNSTABLE, -1), (OK, 5))
    assert one.end() is OK
    assert one.fetched() == (OK, 2)


def test_pending_offsets_of_a_deleted_topic_are_gone(client):
    it = client()
    producer = begun(it)
    assert producer.commit_offset(7) is OK
    it.cluster.recreate_topic("t")
    assert producer.fetched() == (OK, -1)
    assert producer.end() is OK
    assert producer.fetched() == (OK, -1)


@pytest.mark.parametrize("version", range(6))
def test_what_cannot_be_committed_is_refused(client, version):
    it = client()
    producer = begun(it)
    loads = ErrorCode.coordinator_not_available if version < 2 else ErrorCode.coordinator_load_in_progress
    assert producer.commit_offset(1, 9, version=version) is ErrorCode.unknown_topic_or_partition
    assert producer.commit_offset(1, group="", version=version) is ErrorCode.invalid_group_id
    long = "x" * (it.cluster.settings.offset_metadata_max_bytes + 1)
    assert producer.commit_offset(1, metadata=long, version=version) is ErrorCode.offset_metadata_too_large
    it.cluster.settings.coordinator_load_in_progress = True
    assert producer.commit_offset(1, version=version) is loads
    it.cluster.settings.coordinator_load_in_progress = False
    it.cluster.settings.denied_groups.add("g")
    assert producer.commit_offset(1, version=version) is ErrorCode.group_authorization_failed
    assert producer.add_offsets() is ErrorCode.group_authorization_failed
    it.cluster.settings.denied_groups.clear()
    assert producer.fetched(stable=False)[1] == -1


def test_only_the_coordinator_of_the_group_stores_its_offsets(client):
    it = client(nodes=3)
    producer = begun(it)
    elsewhere = it.cluster.coordinator("g") % 3 + 1
    assert producer.commit_offset(1, node_id=elsewhere) is ErrorCode.not_coordinator
    it.cluster.settings.coordinator_available = False
    assert producer.commit_offset(1, node_id=elsewhere) is ErrorCode.not_coordinator


def test_a_paused_transaction_coordinator_lets_the_client_try_again(client):
    it = client(nodes=3)
    producer = begun(it)
    group = next(f"g{at}" for at in range(9) if it.cluster.coordinator(f"g{at}") != producer.node_id)
    it.cluster.pause(producer.node_id)
    assert producer.commit_offset(1, group=group) is ErrorCode.coordinator_load_in_progress


@pytest.mark.parametrize("release", ["3.9.2", "4.3.1"])
def test_a_zombie_cannot_commit_into_the_transaction_of_its_successor(client, release):
    it = client(version=release)
    zombie = Transactor(it, "x", V1)
    assert zombie.init() is OK
    current = begun(it, V1)
    assert current.commit_offset(7) is OK
    assert zombie.commit_offset(1) is ErrorCode.invalid_producer_epoch
    assert current.end() is OK
    assert current.fetched() == (OK, 7)


# Members (KIP-447)


def test_a_classic_group_checks_the_member_and_its_generation(client):
    it = client()
    [member] = stable(it, 1)
    producer = begun(it)
    who = {"member_id": member.member_id, "generation_id": member.generation}
    assert producer.commit_offset(1, **who) is OK
    assert producer.commit_offset(2, **who | {"generation_id": 0}) is ErrorCode.illegal_generation
    assert producer.commit_offset(2, **who | {"member_id": "other"}) is ErrorCode.unknown_member_id
    assert producer.commit_offset(3) is OK
    assert producer.commit_offset(2, group="none", generation_id=4) is ErrorCode.illegal_generation
    member.leave()
    assert producer.commit_offset(2, **who) is ErrorCode.unknown_member_id
    assert producer.end() is OK
    assert producer.fetched() == (OK, 3)


def test_a_transaction_may_commit_while_the_group_assigns(client):
    it = client()
    [member] = stable(it, 1)
    call = member.join("range", "roundrobin")
    member.took(call)
    producer = begun(it)
    who = {"member_id": member.member_id, "generation_id": member.generation}
    assert member.commit(1) == ErrorCode.rebalance_in_progress
    assert producer.commit_offset(1, **who) is OK


def test_a_static_member_that_was_replaced_cannot_commit(client):
    it = client()
    [member] = stable(it, 1, instance="i")
    producer = begun(it)
    who = {"member_id": "old", "generation_id": member.generation, "group_instance_id": "i"}
    assert producer.commit_offset(1, **who) is ErrorCode.fenced_instance_id
    assert producer.commit_offset(1, **who | {"member_id": member.member_id}) is OK


def test_a_group_of_kip_848_checks_the_member_and_its_epoch(client):
    it = client()
    member = Consumer(it, "m")
    member.enter()
    producer = begun(it)
    who = {"member_id": "m", "generation_id": member.epoch}
    assert producer.commit_offset(1, **who) is OK
    stale = {"generation_id": member.epoch + 1}
    assert producer.commit_offset(2, **who | stale) is ErrorCode.illegal_generation
    assert producer.commit_offset(2, **who | {"member_id": "other"}) is ErrorCode.unknown_member_id
    assert producer.commit_offset(2, generation_id=member.epoch) is ErrorCode.unknown_member_id
    assert producer.commit_offset(3, 1) is OK
    assert producer.end() is OK
    assert (producer.fetched(), producer.fetched(1)) == ((OK, 1), (OK, 3))
