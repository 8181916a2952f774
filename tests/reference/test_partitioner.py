"""The choice of a partition: Java's hash on golden vectors, and sticking for keyless records."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.config import ProducerConfig
from clients.reference.metadata import PartitionMetadata, TopicMetadata
from clients.reference.partitioner import Partitioner, murmur2, partition_for_key


def known(*leaders: int | None) -> TopicMetadata:
    partitions = {index: PartitionMetadata(leader, 0) for index, leader in enumerate(leaders)}
    return TopicMetadata(
        UUID(int=1), partitions, tuple(i for i, leader in enumerate(leaders) if leader is not None)
    )


def partitioner(dice: float = 0.0, **settings: object) -> Partitioner:
    config = ProducerConfig.from_mapping({"bootstrap.servers": "b:1", "batch.size": 1_000} | settings)
    return Partitioner(config, lambda: dice)


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
def test_a_key_always_goes_to_the_same_partition_of_those_there_are(key, count):
    partition = partition_for_key(key, count)
    assert 0 <= partition < count
    assert partition == partition_for_key(key, count)


def test_an_empty_key_is_a_key_and_null_is_none():
    chooser = partitioner(dice=-1.0)
    topic = known(*[1] * 64)
    assert chooser.partition("t", topic, b"") == partition_for_key(b"", 64) != 0
    assert chooser.partition("t", topic, None) == 0


def test_keys_can_be_ignored():
    chooser = partitioner(dice=-1.0, **{"partitioner.ignore.keys": True})
    assert chooser.partition("t", known(1, 1, 1), b"abc") == 0


@given(st.floats(-1, 1), st.lists(st.sampled_from([None, 1]), min_size=1, max_size=9))
def test_the_dice_choose_among_partitions_with_a_leader(dice, leaders):
    topic = known(*leaders)
    assert partitioner(dice).partition("t", topic, None) in (topic.available or range(len(leaders)))


def test_keyless_records_stick_for_a_batch():
    """PRD-ISP-07: on between batches once batch.size is reached, within a batch at twice that."""
    rolls = iter([-1.0, 1.0, -1.0])
    config = ProducerConfig.from_mapping({"bootstrap.servers": "b:1", "batch.size": 1_000})
    chooser = Partitioner(config, lambda: next(rolls))
    topic = known(1, 1, 1)
    chosen = []
    for size, is_full in [(600, False), (600, False), (300, True), (1_000, False), (999, False), (1, False)]:
        chosen.append(chooser.partition("t", topic, None))
        chooser.appended("t", topic, size, is_full)
    assert chosen == [0, 0, 0, 2, 2, 2]
    assert chooser.partition("t", topic, None) == 0


def test_a_partition_that_lost_its_leader_is_left_and_news_alone_is_no_reason():
    rolls = iter([-1.0, 1.0])
    config = ProducerConfig.from_mapping({"bootstrap.servers": "b:1"})
    chooser = Partitioner(config, lambda: next(rolls))
    assert chooser.partition("t", known(1, 1, 1), None) == 0
    assert chooser.partition("t", known(2, 1, 1), None) == 0
    assert chooser.partition("t", known(None, 1, 1), None) == 2
