"""The choice of a partition: Java's hash on golden vectors, and the sticky partition of keyless records."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.metadata.metadata import PartitionMetadata, TopicMetadata
from clients.reference.network.node_latency import NodeLatencies
from clients.reference.producer import partitioner as partitioner_module
from clients.reference.producer.partitioner import (
    LONGEST_REMEMBERED_BYTES,
    Partitioner,
    RoundRobinPartitioner,
    murmur2,
    partition_for_key,
)


def known(*leaders: int | None) -> TopicMetadata:
    partitions = {index: PartitionMetadata(leader, 0) for index, leader in enumerate(leaders)}
    return TopicMetadata(
        UUID(int=1), partitions, tuple(i for i, leader in enumerate(leaders) if leader is not None)
    )


class Waiting:
    """A fake of the accumulator's queues: waiting batches by partition, and partitions that have a batch with room."""

    def __init__(self, load=None, filling=()):
        self.load, self.filling = load, set(filling)

    def load_of(self, topic, known):
        return self.load

    def is_filling(self, partition):
        return partition in self.filling


def partitioner(dice=0.0, queues=None, **settings) -> Partitioner:
    config = ProducerConfig.from_mapping({"bootstrap.servers": "b:1", "batch.size": 1_000} | settings)
    rolls = dice if callable(dice) else lambda: dice
    return Partitioner(config, rolls, queues or Waiting())


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_is_javas(key, hashed):
    """PRD-ISP-06: the vectors of Kafka's UtilsTest."""
    assert murmur2(key) == hashed


@given(st.binary(max_size=64), st.integers(1, 100))
def test_key_maps_to_one_of_the_existing_partitions(key, count):
    partition = partition_for_key(key, count)
    assert 0 <= partition < count
    assert partition == partition_for_key(key, count)


def test_empty_key_is_a_key_and_null_is_not():
    chooser = partitioner(dice=-1.0)
    topic = known(*[1] * 64)
    assert chooser.partition("t", topic, b"") == partition_for_key(b"", 64) != 0
    assert chooser.partition("t", topic, None) == 0


def test_keys_can_be_ignored():
    chooser = partitioner(dice=-1.0, **{"partitioner.ignore.keys": True})
    assert chooser.partition("t", known(1, 1, 1), b"abc") == 0


@given(st.floats(-1, 1), st.lists(st.sampled_from([None, 1]), min_size=1, max_size=9))
def test_random_choice_is_among_partitions_with_a_leader(dice, leaders):
    topic = known(*leaders)
    assert partitioner(dice).partition("t", topic, None) in (topic.available or range(len(leaders)))


def rolling(*rolls):
    return iter(rolls).__next__


def test_keyless_records_stay_in_a_partition_for_a_batch():
    """PRD-ISP-07: switch between batches after batch.size, and within a batch after twice that."""
    queues = Waiting()
    chooser = partitioner(rolling(-1.0, 1.0, -1.0), queues)
    topic = known(1, 1, 1)
    chosen = []
    for size, room in [
        (600, True),
        (600, True),
        (300, True),
        (300, False),
        (1_000, True),
        (999, True),
        (1, True),
    ]:
        queues.filling = {("t", 0), ("t", 2)} if room else set()
        chosen.append(chooser.partition("t", topic, None))
        chooser.appended("t", None, size)
    assert chosen == [0, 0, 0, 2, 2, 2, 0]


def test_partition_is_changed_if_it_loses_its_leader():
    chooser = partitioner(rolling(-1.0, 1.0))
    assert chooser.partition("t", known(1, 1, 1), None) == 0
    assert chooser.partition("t", known(2, 1, 1), None) == 0
    assert chooser.partition("t", known(None, 1, 1), None) == 2


@given(st.lists(st.integers(0, 9), min_size=2, max_size=8), st.floats(-1, 1))
def test_longer_queues_get_fewer_records(waiting, dice):
    """PRD-ISP-07, KIP-794: a queue's weight is the longest length + 1, minus its own length."""
    chooser = partitioner(dice, Waiting(list(enumerate(waiting))))
    weights = [max(waiting) + 1 - each for each in waiting]
    place = min(int((dice + 1) / 2 * sum(weights)), sum(weights) - 1)
    expected = next(p for p in range(len(weights)) if sum(weights[: p + 1]) > place)
    assert chooser.partition("t", known(*[1] * len(waiting)), None) == expected


@given(
    st.lists(st.tuples(st.none() | st.binary(max_size=9), st.integers(0, 900), st.booleans()), max_size=60)
)
def test_fast_choice_equals_slow_choice(steps):
    """The fast choice is None or the same as the slow one."""
    queues = Waiting()
    rolls = (((n * 37) % 100) / 50 - 1 for n in range(1_000))
    chooser = partitioner(rolls.__next__, queues)
    topic = known(1, 1, 1, 1)
    for key, size, room in steps:
        queues.filling = {("t", p) for p in range(4)} if room else set()
        try_partition = chooser.try_partition("t", topic, key)
        enough = key is None and "t" in chooser.sticky and chooser.is_enough("t", chooser.sticky["t"])
        chosen = chooser.partition("t", topic, key)
        assert try_partition in (None, chosen) or (enough and not room)
        chooser.appended("t", key, size)


def test_node_is_slow_since_its_last_drain():
    """PRD-ISP-07: the next drain makes it fast again. Without a timeout no node is slow."""
    latencies, off = NodeLatencies(100), NodeLatencies(0)
    slow = []
    for now_ms, can_drain in [(0, True), (50, False), (100, False), (101, False), (400, True), (450, False)]:
        for each in (latencies, off):
            each.looked_at(7, now_ms, can_drain=can_drain)
        slow.append(latencies.is_slow(7))
        assert not off.is_slow(7)
    assert slow == [False, False, False, True, False, False]


# against a producer


def spread(world, **settings):
    w = world(batch_size=300, linger_ms=0, **settings)
    w.settle(*[w.send(partition=p) for p in range(3)])
    return w


def test_queue_length_counts_once_every_partition_had_a_batch(world):
    """PRD-ISP-07: before that, partitions without a batch would never be chosen. Equal queues have no effect."""
    w = world(batch_size=300, linger_ms=0)
    w.settle(w.send(partition=0), w.send(partition=1))
    accumulator, topic = w.accumulator, w.metadata.topics["t"]
    assert accumulator.load_of("t", topic) is None
    w.settle(w.send(partition=2))
    assert accumulator.load_of("t", topic) is None
    for _ in range(4):
        w.send(partition=1, value=b"x" * 250)
    assert accumulator.load_of("t", topic) == [(0, 0), (1, 4), (2, 0)]


def test_adaptive_partitioning_can_be_disabled(world):
    """PRD-ISP-07: partitioner.adaptive.partitioning.enable."""
    w = spread(world, partitioner_adaptive_partitioning_enable=False)
    for _ in range(4):
        w.send(partition=1, value=b"x" * 250)
    assert w.accumulator.load_of("t", w.metadata.topics["t"]) is None


def test_blocked_broker_is_avoided(world):
    """PRD-ISP-07: partitioner.availability.timeout.ms, until the broker accepts a request again."""
    w = spread(world, nodes=2, partitioner_availability_timeout_ms=200)
    accumulator, topic = w.accumulator, w.metadata.topics["t"]
    w.refuse(2)
    w.run(5)
    stuck = w.send(partition=1)
    w.run(150)
    assert (1, 1) in accumulator.load_of("t", topic)
    w.run(500)
    assert [partition for partition, _ in accumulator.load_of("t", topic)] == [0, 2]
    chosen = set()
    for _ in range(30):
        delivery = w.send(partition=None, value=b"x" * 280)
        w.settle(delivery)
        chosen.add(delivery.metadata.partition)
    assert 1 not in chosen
    w.accept(2)
    w.settle(stuck)
    assert accumulator.load_of("t", w.metadata.topics["t"]) is None


@given(st.binary(max_size=LONGEST_REMEMBERED_BYTES + 4), st.integers(1, 9))
def test_remembered_hash_is_the_hash(key, partitions):
    for _ in range(2):
        assert partition_for_key(key, partitions) == (murmur2(key) & 0x7FFFFFFF) % partitions


def test_memory_of_hashes_is_bounded():
    """Keys of any size and number take at most a few megabytes."""
    remembered = partitioner_module._remembered
    remembered.cache_clear()
    partition_for_key(b"x" * (LONGEST_REMEMBERED_BYTES + 1), 3)
    assert remembered.cache_info().currsize == 0
    partition_for_key(b"x" * LONGEST_REMEMBERED_BYTES, 3)
    assert remembered.cache_info().currsize == 1
    assert remembered.cache_info().maxsize is not None


def test_round_robin_uses_partitions_in_turn(world):
    """PRD-ISP-06: org.apache.kafka.clients.producer.RoundRobinPartitioner, whatever the key."""
    w = world()
    w.settle(w.send(partition=0))
    choose, cluster = RoundRobinPartitioner(), w.core.cluster()
    assert [choose.partition("t", "k", b"same", None, None, cluster) for _ in range(7)] == [
        0,
        1,
        2,
        0,
        1,
        2,
        0,
    ]


def test_cluster_is_that_of_one_moment(world):
    w = world()
    before = w.core.cluster()
    w.settle(w.send(partition=0))
    after = w.core.cluster()
    assert [each.partition_count("t") for each in (before, after)] == [0, 3]
    assert [each.available_partitions("t") for each in (before, after)] == [(), (0, 1, 2)]
    assert before.leader_of("t", 0) is None and after.leader_of("t", 3) is None
    assert after.leader_of("t", 0).id in w.metadata.nodes
