"""Batches, records and keys stay in their partition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.model.rows import FrameKind
from harness.model.spec import Workload
from harness.model.verdicts import Guarantee
from suites.checks.wire.partition_moved import CHECK

BOTH = [Guarantee.AT_LEAST_ONCE, Guarantee.IDEMPOTENT]


def found(told):
    return [
        (finding.anomaly, finding.requirement, finding.level, finding.count)
        for finding in CHECK.run(told.evidence())
    ]


@given(data=st.data(), guarantee=st.sampled_from(BOTH))
def test_faithful_trial_is_never_accused(faithful, data, guarantee):
    """Stories choose partitions at random, so their records have no keys."""
    told = data.draw(faithful(guarantee))
    told.workload = replace(told.workload, keys=0)
    told.log = [replace(record, key=None) for record in told.log]

    assert found(told) == []


@pytest.mark.parametrize("guarantee", BOTH)
def test_batch_resent_to_another_partition_is_found(story, changed_last, guarantee):
    told = story(guarantee, workload=Workload(partitions=2, keys=0, value_bytes=60))
    told.call(0)
    told.request([0], 0, at_ms=10)
    changed_last(told, crc=5, first_timestamp_ms=1, max_timestamp_ms=2)
    told.close(1, at_ms=15)
    told.request([0], 1, at_ms=20, conn=2)
    changed_last(told, crc=5, first_timestamp_ms=1, max_timestamp_ms=2)

    expected = [("batch-moved", "PRD-SND-02", "MUST", 1)]
    if guarantee is Guarantee.IDEMPOTENT:
        expected.append(("batch-moved", "E2E-DEL-02", "MUST", 1))
    assert found(told) == expected


@pytest.mark.parametrize("field", ["crc", "records", "first_timestamp_ms", "max_timestamp_ms"])
def test_different_batches_are_not_confused(story, changed_last, field):
    same = {"crc": 5, "records": 1, "first_timestamp_ms": 1, "max_timestamp_ms": 2}
    told = story(workload=Workload(partitions=2, keys=0, value_bytes=60))
    told.call(0, 1)
    told.request([0], 0, at_ms=10)
    changed_last(told, **same)
    told.request([1], 1, at_ms=20)
    changed_last(told, **same | {field: 99})

    assert found(told) == []


def test_record_in_two_partitions_is_found(story):
    told = story(workload=Workload(partitions=2, keys=0, value_bytes=60))
    told.call(0)
    told.append([0], 0)
    told.append([0], 1)

    assert found(told) == [("record-moved", "PRD-SND-02", "MUST", 1)]


def keys_in(story, *partitions, open_until_ms=5, every_ms=100):
    """Add records of one key, each to the next of these partitions."""
    told = story(workload=Workload(partitions=3, keys=1, value_bytes=60))
    for n, partition in enumerate(partitions):
        at_ms = n * every_ms
        told.call(n, at_ms=at_ms)
        base = told.deliver([n], partition, at_ms=at_ms + 2)
        told.result(n, at_ms=at_ms + open_until_ms, partition=partition, offset=base)
    return told


def test_key_in_two_partitions_is_found(story):
    assert found(keys_in(story, 0, 0)) == []
    assert found(keys_in(story, 0, 0, 1, 1)) == [("key-moved", "PRD-ISP-06", "SHOULD", 1)]


def test_record_without_a_key_may_go_anywhere(story):
    told = keys_in(story, 0, 1)
    told.workload = replace(told.workload, keys=0)

    assert found(told) == []


@pytest.mark.parametrize(
    ("partitions", "grows_ms", "count"),
    [
        ((0, 0, 1, 1), 150, 0),
        ((0, 0, 1, 1), 350, 1),  # before the partition was added
        ((0, 1, 2, 2), 50, 1),  # twice
        ((0, 1, 0, 1), 350, 1),
    ],
)
def test_key_may_move_when_the_topic_grows(story, partitions, grows_ms, count):
    told = keys_in(story, *partitions)
    told.fault("topic_growth", grows_ms, grows_ms + 50)

    assert sum(each[3] for each in found(told)) == count


@pytest.mark.parametrize(
    ("partitions", "growths", "count"),
    [
        ((0, 1, 1, 1), 1, 0),
        ((0, 1, 0, 0), 1, 1),  # and back
        ((0, 1, 0, 0), 2, 0),  # as hashing allows with one more partition, twice
        ((0, 1, 0, 1), 2, 1),
    ],
)
def test_key_moves_once_per_growth(story, partitions, growths, count):
    told = keys_in(story, *partitions, every_ms=2_000)
    for _ in range(growths):
        told.fault("topic_growth", 1_000, 1_010)

    assert sum(each[3] for each in found(told)) == count


def test_pending_record_may_be_in_two_partitions_when_the_topic_grows(story):
    told = story(workload=Workload(partitions=2, keys=0, value_bytes=60))
    told.call(0)
    told.append([0], 0)
    told.append([0], 1)
    told.result(0, at_ms=100, partition=1, offset=0)
    told.fault("topic_growth", 50, 60)
    assert found(told) == []

    told.faults.clear()
    told.fault("topic_growth", 150, 160)
    assert len(found(told)) == 1


def test_situations_that_arise(story):
    told = keys_in(story, 0, 0)
    arises = {requirement.id: requirement.arises(told.evidence()) for requirement in CHECK.requirements}
    assert arises == {"E2E-DEL-02": 0, "PRD-SND-02": 0, "PRD-ISP-06": 1}

    told.frames = [frame for frame in told.frames if frame.kind is FrameKind.REQUEST]
    assert CHECK.requirements[0].arises(told.evidence()) == 2
