"""External changes to a cluster, as clients and the log see them."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from kio.schema.errors import ErrorCode

from harness.brokers.scripted.cluster import ScriptedCluster
from harness.model.dice import Dice
from harness.model.errors import UsageError
from harness.wire.apis import Api
from tests.harness.brokers.scripted.groups import Member


def values(it):
    return [row.value for row in it.cluster.read_log("t")]


def test_the_same_seed_makes_the_same_cluster(client):
    first, second = client(nodes=3), client(nodes=3)
    assert first.metadata("t") == second.metadata("t")


def test_an_in_sync_replica_takes_over_from_a_killed_leader(client, batch):
    it = client(nodes=3)
    it.produce(batch())
    it.cluster.kill(1, 0)
    assert not it.cluster.accepts(1)
    assert it.cluster.handle(1, 1, b"", 0).close
    body = it.metadata("t", node_id=2)
    assert [node.node_id for node in body.brokers] == [2, 3]
    led = body.topics[0].partitions[0]
    assert (led.leader_id, led.leader_epoch, led.offline_replicas) == (2, 1, (1,))
    assert it.produce(batch(), node_id=2).base_offset == 1
    it.cluster.restart(1, 0)
    assert it.cluster.leader("t", 0) == (2, 1)
    assert set(it.metadata("t").topics[0].partitions[0].isr_nodes) == {1, 2, 3}


def test_a_partition_is_offline_while_its_only_replica_is_down(client, batch):
    it = client(nodes=2, replication_factor=1)
    it.produce(batch(2))
    it.cluster.kill(1, 0)
    led = it.metadata("t", node_id=2).topics[0].partitions[0]
    assert (led.error_code, led.leader_id, led.leader_epoch) == (ErrorCode.leader_not_available, -1, 1)
    assert it.produce(batch(), node_id=2).error_code is ErrorCode.not_leader_or_follower
    it.cluster.restart(1, 0)
    assert it.cluster.leader("t", 0) == (1, 2)
    assert it.produce(batch()).base_offset == 2


def test_a_cluster_recovers_from_a_restart_of_all_nodes(client, batch):
    it = client(nodes=3)
    it.produce(batch())
    for node_id in (1, 2, 3):
        it.cluster.kill(node_id, 0)
    assert it.cluster.leader("t", 0)[0] == -1
    for node_id in (1, 2, 3):
        it.cluster.restart(node_id, 0)
    leader, _ = it.cluster.leader("t", 0)
    assert leader == 3
    assert set(it.metadata("t").topics[0].partitions[0].isr_nodes) == {1, 2, 3}
    assert it.produce(batch(), node_id=leader).base_offset == 1


def test_unreplicated_records_are_lost_when_a_lagging_follower_leads(client, batch):
    it = client(nodes=2)
    it.produce(batch(1, (7, 0, 0)), acks=1)
    it.cluster.pause(2)
    it.produce(batch(1, (7, 0, 1)), acks=1)
    it.cluster.kill(1, 0)
    it.cluster.resume(2)
    assert it.cluster.leader("t", 0) == (2, 1)
    assert values(it) == ["v0"]
    # The state of its producer is lost too.
    assert it.produce(batch(1, (7, 0, 1)), node_id=2, acks=1).base_offset == 1
    assert len(values(it)) == 2


def test_a_paused_broker_defers_the_request(client, batch):
    it = client()
    it.cluster.pause(1, until_ns=5_000_000)
    answer = it.produce_many([(0, batch())]).answer
    assert (answer.frame, answer.close, answer.again, answer.at_ns) == (None, False, True, 5_000_000)
    it.now_ns = 5_000_000
    assert it.produce_many([(0, batch())]).answer.at_ns > it.now_ns
    assert it.cluster.accepts(1)
    it.cluster.resume(1)
    assert it.produce(batch()).base_offset == 0


def test_a_leader_can_move_to_a_node_without_a_replica(client, batch):
    it = client(nodes=2, replication_factor=1)
    it.produce(batch())
    it.cluster.move_leader("t", 0, 2, 0)
    assert it.produce(batch(), node_id=2).base_offset == 1
    assert it.metadata("t").topics[0].partitions[0].replica_nodes == (2,)


def test_trimmed_records_are_kept_as_deleted_rows(client, batch):
    it = client()
    it.produce(batch(3))
    it.produce(batch(3))
    it.cluster.trim("t", 0, 4)
    assert [row.offset for row in it.cluster.read_log("t")] == [4, 5]
    assert [row.offset for row in it.cluster.read_log("t", deleted=True)] == list(range(6))
    assert it.produce(batch()).log_start_offset == 4


def test_topics_can_grow_and_be_deleted(client, batch):
    it = client()
    it.cluster.add_partitions("t", 5)
    assert len(it.metadata("t").topics[0].partitions) == 5
    assert it.produce(batch(), 4).base_offset == 0
    it.cluster.delete_topic("t")
    assert it.metadata("t").topics[0].error_code is ErrorCode.unknown_topic_or_partition
    assert it.produce(batch()).error_code is ErrorCode.unknown_topic_or_partition
    assert it.cluster.read_log("t") == []


@pytest.mark.parametrize(
    "misuse",
    [
        lambda it: it.create_topic("t", 1),
        lambda it: it.create_topic("no name", 1),
        lambda it: it.create_topic("u", 0),
        lambda it: it.create_topic("u", 1, {"max.message.bytes": "many"}),
        lambda it: it.delete_topic("u"),
        lambda it: it.add_partitions("t", 1),
        lambda it: it.move_leader("t", 0, 9, 0),
        lambda it: it.move_leader("t", 9, 1, 0),
        lambda it: it.kill(9, 0),
        lambda it: it.inject_error(Api.PRODUCE, 9_999, 1),
        lambda it: ScriptedCluster("1.0", {1: ("b", 1)}, Dice(1, "x")),
    ],
)
def test_misuse_is_a_usage_error(client, misuse):
    with pytest.raises(UsageError):
        misuse(client().cluster)


class Replication(RuleBasedStateMachine):
    """Brokers fail, restart, pause and leave the ISR in any order; acks=all records are never lost."""

    def __init__(self, client, batch) -> None:
        super().__init__()
        self.it = client(nodes=3, partitions=1)
        self.batch = batch
        self.acknowledged: list[str] = []
        self.count = 0
        self.epoch = 0

    nodes = st.integers(1, 3)

    @rule(acks=st.sampled_from([1, -1]))
    def append(self, acks) -> None:
        leader, _ = self.it.cluster.leader("t", 0)
        if leader != -1:
            self.count += 1
            sent = self.it.produce_many(
                [(0, self.batch(value=b"%d-" % self.count))], acks=acks, node_id=leader
            )
            if not sent.answer.again:
                part = sent.body.responses[0].partition_responses[0]
                if part.error_code is ErrorCode.none and acks == -1:
                    self.acknowledged.append(f"{self.count}-0")

    @rule(node=nodes)
    def kill(self, node) -> None:
        self.it.cluster.kill(node, 0)

    @rule(node=nodes)
    def restart(self, node) -> None:
        self.it.cluster.restart(node, 0)

    @rule(node=nodes)
    def pause(self, node) -> None:
        if self.it.cluster.accepts(node):
            self.it.cluster.pause(node)

    @rule(node=nodes)
    def resume(self, node) -> None:
        self.it.cluster.resume(node)

    @rule(node=nodes)
    def drop(self, node) -> None:
        self.it.cluster.drop_from_isr(node)

    @rule(node=nodes)
    def catch_up(self, node) -> None:
        self.it.cluster.return_to_isr(node)

    @rule(node=nodes)
    def move(self, node) -> None:
        if self.it.cluster.accepts(node) and self.it.cluster.leader("t", 0)[0] != -1:
            self.it.cluster.move_leader("t", 0, node, 0)

    @invariant()
    def nothing_acknowledged_is_lost(self) -> None:
        assert set(self.acknowledged) <= set(values(self.it))

    @invariant()
    def a_leader_is_alive_and_in_sync_and_epochs_only_grow(self) -> None:
        leader, epoch = self.it.cluster.leader("t", 0)
        partition = self.it.cluster.state.topics["t"].partitions[0]
        assert leader == -1 or (self.it.cluster.accepts(leader) and leader in partition.isr)
        assert partition.isr
        assert set(partition.isr) <= set(partition.replicas)
        assert set(partition.lagging) <= set(partition.isr) - {leader}
        assert epoch >= self.epoch
        self.epoch = epoch
        log = partition.log
        assert log.log_start_offset <= log.high_watermark <= log.log_end_offset


@pytest.mark.long("many histories of producers and topics")
def test_acks_all_records_survive_any_broker_failures(client, batch):
    run_state_machine_as_test(
        lambda: Replication(client, batch), settings=settings(max_examples=150, stateful_step_count=40)
    )


def test_an_offset_held_back_on_demand_is_the_error_of_its_partition(client):
    it = client()
    it.cluster.inject_error(Api.OFFSET_FETCH, ErrorCode.unstable_offset_commit, 1)
    held, told = Member(it).fetch(), Member(it).fetch()
    assert (held.error_code, held.committed_offset) == (ErrorCode.unstable_offset_commit, -1)
    assert told.error_code == ErrorCode.none
