"""ListOffsets and OffsetForLeaderEpoch: what clients learn about a log without reading it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from harness.brokers.scripted.leader_epochs import UNDEFINED, EpochEnd, LeaderEpochs
from harness.wire.apis import Api
from harness.wire.records import end_transaction_marker

NOW_MS = 1_700_000_000_000
LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3


@pytest.fixture(scope="session")
def offsets(build, structure):
    def ask(it, timestamp, *, version=9, partition=0, isolation=0, epoch=-1, node_id=1, times=1):
        part = structure(Api.LIST_OFFSETS, version, "request", "ListOffsetsPartition")
        named = structure(Api.LIST_OFFSETS, version, "request", "ListOffsetsTopic")
        made = (
            build(part, partition_index=partition, timestamp=timestamp, current_leader_epoch=epoch),
        ) * times
        body = it.request(
            Api.LIST_OFFSETS,
            version,
            node_id,
            replica_id=-1,
            isolation_level=isolation,
            timeout=timedelta(0),
            topics=(build(named, name="t", partitions=made),),
        ).body
        return body.topics[0].partitions[0]

    return ask


@pytest.fixture(scope="session")
def end_of_epoch(build, structure):
    def ask(it, epoch, *, current=-1, version=4, node_id=1, topic="t"):
        part = structure(Api.OFFSET_FOR_LEADER_EPOCH, version, "request", "OffsetForLeaderPartition")
        named = structure(Api.OFFSET_FOR_LEADER_EPOCH, version, "request", "OffsetForLeaderTopic")
        made = build(part, partition=0, leader_epoch=epoch, current_leader_epoch=current)
        body = it.request(
            Api.OFFSET_FOR_LEADER_EPOCH,
            version,
            node_id,
            replica_id=-1,
            topics=(build(named, topic=topic, partitions=(made,)),),
        ).body
        found = body.topics[0].partitions[0]
        return found.error_code, found.leader_epoch, found.end_offset

    return ask


@pytest.mark.parametrize("version", range(1, 12))
def test_every_version_finds_both_ends(client, batch, offsets, version):
    it = client()
    it.produce(batch(5))
    it.cluster.trim("t", 0, 2)
    assert (offsets(it, EARLIEST, version=version).offset, offsets(it, LATEST, version=version).offset) == (
        2,
        5,
    )


def test_deleted_records_may_have_the_greatest_timestamp(client, batch, offsets):
    it = client()
    it.produce(batch(1, timestamp_ms=NOW_MS))
    it.produce(batch(1, timestamp_ms=NOW_MS - 1000))
    it.cluster.trim("t", 0, 1)
    assert offsets(it, MAX_TIMESTAMP).offset == 0
    assert offsets(it, NOW_MS - 1000).offset == 1


def test_records_without_a_timestamp_have_a_greatest_one(client, batch, offsets):
    it = client()
    assert offsets(it, MAX_TIMESTAMP).offset == -1
    it.produce(batch(1, timestamp_ms=-1))
    assert (offsets(it, MAX_TIMESTAMP).offset, offsets(it, MAX_TIMESTAMP).timestamp) == (0, -1)


def test_the_latest_offset_depends_on_the_isolation(client, batch, offsets):
    it = client()
    it.cluster.fill("t", 0, [batch(2), batch(1, (7, 0, 0), transactional=True)], 0)
    assert [offsets(it, LATEST, isolation=level).offset for level in (0, 1)] == [3, 2]
    it.cluster.fill("t", 0, [end_transaction_marker("COMMIT", 7, 0, NOW_MS)], 0)
    assert offsets(it, LATEST, isolation=1).offset == 4


@given(st.lists(st.integers(0, 50), max_size=10), st.integers(0, 60))
def test_the_first_record_from_a_timestamp_on(client, batch, offsets, ages, wanted):
    it = client()
    for age in ages:
        it.produce(batch(timestamp_ms=NOW_MS + age))
    due = next((at for at, age in enumerate(ages) if age >= wanted), -1)
    found = offsets(it, NOW_MS + wanted)
    assert (found.error_code, found.offset) == (ErrorCode.none, due)
    newest = offsets(it, MAX_TIMESTAMP)
    assert newest.offset == (ages.index(max(ages)) if ages else -1)


@pytest.mark.parametrize(("timestamp", "version"), [(MAX_TIMESTAMP, 6), (-4, 7), (-5, 8), (-7, 9)])
def test_unknown_special_timestamps_are_refused(client, offsets, timestamp, version):
    assert offsets(client(), timestamp, version=version).error_code is ErrorCode.unsupported_version


def test_a_partition_that_is_asked_for_twice_is_refused(client, offsets):
    assert offsets(client(), LATEST, times=2).error_code is ErrorCode.invalid_request


def test_a_new_leader_that_does_not_know_what_was_committed(client, batch, offsets):
    it = client(nodes=3)
    it.cluster.pause(3)
    it.produce(batch(2), acks=1)
    it.cluster.move_leader("t", 0, 2, 0)
    assert offsets(it, LATEST, node_id=2).error_code is ErrorCode.offset_not_available
    assert offsets(it, LATEST, node_id=2, version=4).error_code is ErrorCode.leader_not_available
    assert offsets(it, EARLIEST, node_id=2).offset == 0
    it.cluster.resume(3)
    assert offsets(it, LATEST, node_id=2).offset == 2


def test_epochs_and_replicas_are_checked(client, offsets, end_of_epoch):
    it = client(nodes=3)
    it.cluster.begin_epoch("t", 0)
    codes = [offsets(it, LATEST, epoch=epoch).error_code for epoch in (0, 1, 2)]
    assert codes == [ErrorCode.fenced_leader_epoch, ErrorCode.none, ErrorCode.unknown_leader_epoch]
    assert offsets(it, LATEST, node_id=2).error_code is ErrorCode.not_leader_or_follower
    assert end_of_epoch(it, 0, current=0)[0] is ErrorCode.fenced_leader_epoch
    assert end_of_epoch(it, 0, node_id=3)[0] is ErrorCode.not_leader_or_follower
    assert end_of_epoch(it, 0, topic="none")[0] is ErrorCode.unknown_topic_or_partition


def test_each_epoch_ends_where_the_next_begins(client, batch, end_of_epoch):
    it = client()
    for count in (2, 3, 1):
        it.produce(batch(count))
        it.cluster.begin_epoch("t", 0)
    assert [end_of_epoch(it, epoch)[1:] for epoch in range(5)] == [(0, 2), (1, 5), (2, 6), (3, 6), (-1, -1)]


def test_an_unclean_election_loses_records_and_their_epochs(client, batch, end_of_epoch):
    it = client(nodes=3)
    it.produce(batch(2))
    it.cluster.drop_from_isr(2)
    it.cluster.begin_epoch("t", 0)
    it.produce(batch(3))
    it.cluster.elect_uncleanly("t", 0, 2)
    assert it.cluster.leader("t", 0) == (2, 2)
    assert len(it.cluster.read_log("t")) == 2
    assert end_of_epoch(it, 1, node_id=2) == (ErrorCode.none, 0, 2)


def test_a_topic_may_allow_unclean_elections(client, batch):
    it = client(nodes=2, config={"unclean.leader.election.enable": "true"}, partitions=1)
    it.produce(batch(2))
    it.cluster.drop_from_isr(2)
    it.produce(batch(3), acks=1)
    it.cluster.kill(1, 0)
    assert it.cluster.leader("t", 0) == (2, 1)
    assert len(it.cluster.read_log("t")) == 2


@given(st.lists(st.integers(0, 3), max_size=8), st.integers(-1, 10))
def test_the_end_of_an_epoch_is_where_the_first_later_record_is(appends, asked):
    """``appends`` has the number of records of each epoch. Epochs without records are forgotten, except the last."""
    epochs, written = LeaderEpochs(), []
    for epoch, count in enumerate(appends):
        epochs.assign(epoch, len(written))
        written += [epoch] * count
    end = epochs.end_of(asked, len(written))
    if not appends or asked < 0 or asked >= len(appends):
        assert end == UNDEFINED
    elif asked == len(appends) - 1:
        assert end == EpochEnd(asked, len(written))
    else:
        known = [epoch for epoch in written if epoch <= asked]
        assert end == EpochEnd(max(known, default=asked), len(known))
