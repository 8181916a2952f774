"""ConsumerRecords: by partition, in order, with the positions after them."""

from __future__ import annotations

from clients.reference.consumer.consumer_record import ConsumerRecord, ConsumerRecords
from clients.reference.consumer.subscription.positions import OffsetAndMetadata


def record(topic: str, partition: int, offset: int) -> ConsumerRecord:
    return ConsumerRecord(topic, partition, offset, 0, "CreateTime", None, b"v", (), None, -1, 1)


def test_records_are_found_by_partition_and_by_topic():
    first, second = [record("a", 0, 4), record("a", 0, 5)], [record("a", 1, 1)]
    other = [record("b", 0, 0)]
    after = {("a", 0): OffsetAndMetadata(6)}
    records = ConsumerRecords({("a", 0): first, ("b", 0): other, ("a", 1): second, ("c", 0): []}, after)
    assert records.partitions() == (("a", 0), ("b", 0), ("a", 1))
    assert records.records(("a", 0)) == first
    assert list(records.records(("c", 0))) == []
    assert list(records.records_of_topic("a")) == first + second
    assert list(records) == first + other + second
    assert records.count == len(records) == 4
    assert not records.is_empty
    assert records.next_offsets == after


def test_no_records_are_empty():
    assert ConsumerRecords({}).is_empty
    assert ConsumerRecords({("a", 0): []}).is_empty
    assert not ConsumerRecords({}).next_offsets
