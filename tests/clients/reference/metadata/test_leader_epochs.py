"""The newest epoch determines a partition's leader, whichever response contains it (MET-04, MET-05, MET-09)."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from clients.reference.ports import Node
from clients.reference.telemetry.trace import LeadershipUpdated
from harness.wire.apis import Api


def reporting(w, leader, epoch):
    """Make every Metadata response from now on report this for the first partition."""

    def of(partition):
        is_first = partition.partition_index == 0
        return replace(partition, leader_id=leader, leader_epoch=epoch) if is_first else partition

    def change(body):
        topics = [replace(topic, partitions=tuple(map(of, topic.partitions))) for topic in body.topics]
        return replace(body, topics=tuple(topics))

    w.brokers.script = lambda seen: seen.edit(change) if seen.api is Api.METADATA else None


def test_older_leader_epoch_is_ignored(world):
    """MET-04, and MET-05: epochs of a recreated topic start again."""
    w = world(nodes=2, metadata_max_age_ms=500)
    for leader in (2, 1, 2, 1, 2, 1, 2):
        w.cluster.move_leader("t", 0, leader, 0)
    w.settle(w.send())
    reporting(w, 1, 6)
    w.run(2_000)
    assert w.metadata.leader_of(("t", 0)) == 2
    reporting(w, 1, 8)
    w.run(2_000)
    assert w.metadata.leader_of(("t", 0)) == 1
    w.cluster.recreate_topic("t")
    reporting(w, 2, 0)
    w.run(2_000)
    assert w.metadata.leader_of(("t", 0)) == 2


def test_newer_leader_from_another_response_is_adopted(world):
    """MET-09, KIP-951: only newer epochs, of known partitions and nodes. A later response may not undo it."""
    w = world(nodes=2, metadata_max_age_ms=500)
    w.cluster.move_leader("t", 1, 1, 0)
    w.cluster.kill(2, 0)
    w.settle(w.send())
    metadata = w.metadata
    b2 = Node(2, *w.addresses[2])
    news = {("t", 0): (2, 5), ("t", 1): (2, 1), ("t", 2): (3, 5), ("t", 9): (2, 5), ("u", 0): (2, 5)}
    assert [metadata.current_leader(("t", index)).epoch for index in range(3)] == [0, 1, 0]
    assert metadata.update_partition_leadership(news, [b2], w.now_ms) == {("t", 0)}
    assert [metadata.leader_of(("t", index)) for index in range(3)] == [2, 1, 1]
    assert metadata.current_leader(("t", 0)).epoch == 5
    assert metadata.partitions_led_by(2) == [("t", 0)] and metadata.nodes[2] == b2
    assert [(event.partition, event.leader, event.epoch) for event in w.told(LeadershipUpdated)] == [
        ("t-0", 2, 5)
    ]
    assert metadata.update_partition_leadership({("t", 0): (1, 5)}, [], w.now_ms) == set()
    w.cluster.restart(2, 0)
    w.run(2_000)
    assert metadata.leader_of(("t", 0)) == 2


@given(st.lists(st.tuples(st.sampled_from(["answer", "produce"]), st.integers(1, 3), st.integers(0, 6))))
def test_leader_of_newest_epoch_is_used_whatever_reports_it(world, news):
    """MET-04, -09: from Metadata or from an error response, in any order."""
    w = world(nodes=3, metadata_max_age_ms=100)
    w.settle(w.send())
    newest = (1, 0)
    for source, leader, epoch in news:
        if source == "answer":
            reporting(w, leader, epoch)
            w.run(250)
            newest = (leader, epoch) if epoch >= newest[1] else newest
        else:
            w.metadata.update_partition_leadership({("t", 0): (leader, epoch)}, [], w.now_ms)
            newest = (leader, epoch) if epoch > newest[1] else newest
        known = w.metadata.current_leader(("t", 0))
        assert (known.leader, known.epoch) == newest


def test_epochs_before_metadata_9_are_not_reliable(world):
    """MET-04: before Metadata version 9 an epoch is not reliable, so the last response applies."""
    w = world(nodes=2, metadata_max_age_ms=500)
    w.brokers.offer(Api.METADATA, 0, 8)
    for leader in (2, 1, 2, 1, 2, 1, 2):
        w.cluster.move_leader("t", 0, leader, 0)
    w.settle(w.send())
    reporting(w, 1, 6)
    w.run(2_000)
    assert w.metadata.leader_of(("t", 0)) == 1
