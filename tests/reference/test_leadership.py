"""A refusal that names the new leader is worth a Metadata round trip, and its retry needs no backoff (MET-09)."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from clients.reference.ports import Node
from clients.reference.trace import BatchSent
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME

NOT_LEADER = BY_NAME["NOT_LEADER_OR_FOLLOWER"].code
FENCED = BY_NAME["FENCED_LEADER_EPOCH"].code


def names_the_leader(cluster, seen, code, leader, epoch, node):
    """The answer of a broker that knows better."""

    def change(body):
        module = sys.modules[type(body).__module__]
        (topic,) = body.responses
        (partition,) = topic.partition_responses
        current = module.LeaderIdAndEpoch(leader_id=leader, leader_epoch=epoch)
        error = type(partition.error_code)(code)
        partition = replace(partition, error_code=error, base_offset=-1, current_leader=current)
        endpoints = (module.NodeEndpoint(node_id=node.id, host=node.host, port=node.port, rack=None),)
        return replace(
            body, responses=(replace(topic, partition_responses=(partition,)),), node_endpoints=endpoints
        )

    return cluster.edit(seen, change)


def moved(world, cluster, *, code=NOT_LEADER, epoch=1, version=13):
    """A producer whose next batch is refused by broker 1, for broker 2 leads with ``epoch`` now; Metadata is lost."""
    cluster.versions[Api.PRODUCE] = (0, version)
    cluster.brokers[2] = Node(2, "b2", 9092)
    w = world(linger_ms=0, retry_backoff_ms=5_000, retry_backoff_max_ms=5_000)
    w.settle(w.send())
    topic_id, partitions = cluster.topics["t"]
    cluster.topics["t"] = (topic_id, partitions | {0: (2, 1)})

    def script(seen):
        if seen.api is Api.METADATA:
            return "lose"
        if seen.api is Api.PRODUCE and seen.node_id == 1:
            return names_the_leader(cluster, seen, code, 2, epoch, cluster.brokers[2])
        return None

    cluster.script = script
    return w


@pytest.mark.parametrize("code", [NOT_LEADER, FENCED])
def test_the_retry_goes_to_the_new_leader_at_once(world, cluster, code):
    """MET-09, KIP-951: before any Metadata answer, and before the backoff is over."""
    w = moved(world, cluster, code=code)
    start_ms = w.now_ms
    delivery = w.send()
    w.settle(delivery)
    assert delivery.error is None
    assert w.now_ms - start_ms < 100
    assert [event.node for event in w.of(BatchSent)] == [1, 1, 2]


def test_an_epoch_that_is_no_news_changes_nothing(world, cluster):
    """MET-09: the same epoch may name whom it likes; the retry waits its backoff."""
    w = moved(world, cluster, epoch=0)
    w.send()
    w.run_for(4_000)
    assert [event.node for event in w.of(BatchSent)] == [1, 1]


def test_before_produce_10_there_is_no_such_news(world, cluster):
    w = world(linger_ms=0)
    cluster.versions[Api.PRODUCE] = (0, 9)
    w.settle(w.send())
    assert w.core._metadata.topics["t"].partitions[0].leader == 1


def test_a_newer_leader_from_metadata_skips_the_backoff_too(world, cluster):
    """PRD-ACC-04, PRD-SND-10: what the backoff would wait for has happened."""
    cluster.brokers[2] = Node(2, "b2", 9092)
    w = world(linger_ms=0, retry_backoff_ms=5_000, retry_backoff_max_ms=5_000)
    w.settle(w.send())
    w.run_for(6_000)
    topic_id, partitions = cluster.topics["t"]
    cluster.topics["t"] = (topic_id, partitions | {0: (2, 1)})
    start_ms = w.now_ms
    w.settle(w.send())
    assert w.now_ms - start_ms < 1_000
    assert [event.node for event in w.of(BatchSent)] == [1, 1, 2]


def test_the_same_leader_deserves_the_backoff_again(world, cluster):
    """PRD-ACC-04: only the first retry to a new leader skips it."""
    w = moved(world, cluster)
    inner = cluster.script
    cluster.script = lambda seen: 19 if seen.api is Api.PRODUCE and seen.node_id == 2 else inner(seen)
    w.send()
    w.run_for(4_000)
    assert [event.node for event in w.of(BatchSent)] == [1, 1, 2]
    w.run_for(2_000)
    assert [event.node for event in w.of(BatchSent)] == [1, 1, 2, 2]
