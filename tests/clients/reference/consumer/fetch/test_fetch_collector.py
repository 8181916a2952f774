"""FetchCollector: what the application gets, and what each error does (CSM-FET-02, -03, -06, -08, -09)."""

from __future__ import annotations

import pytest

from clients.reference.consumer.deserializers import Deserializers
from clients.reference.consumer.errors import (
    CorruptRecordError,
    OffsetOutOfRangeError,
    RecordDeserializationError,
    ResponseError,
)
from clients.reference.consumer.subscription.positions import FetchPosition, LeaderAndEpoch, OffsetAndMetadata
from clients.reference.telemetry.fetch_events import FetchDropped, FetchFailed, RecordsReturned
from harness.wire.error_table import BY_NAME
from testkit.codes import raises_code

T0, T1 = ("t", 0), ("t", 1)


@pytest.fixture
def started(bench):
    """Return a bench with both partitions at offset 0 on node 1, and its first request."""

    def start(deserializers=None, **given):
        w = bench(deserializers, **given)
        w.led({T0: (1, 5), T1: (1, 5)})
        w.assign({T0: 0, T1: 0})
        [sent] = w.fetch()
        return w, sent

    return start


def offsets(fetch, partition):
    return [each.offset for each in fetch.records.get(partition, ())]


def test_a_call_returns_at_most_max_poll_records_across_partitions(started, responses, make_batch):
    w, sent = started(max_poll_records=3)
    parts = {
        T0: {"records": make_batch(0, [b"a", b"b"], epoch=4)},
        T1: {"records": make_batch(0, [b"c", b"d"])},
    }
    w.reply(sent, responses.fetch(sent, parts))
    first = w.collect()
    assert (offsets(first, T0), offsets(first, T1), first.count) == ([0, 1], [0], 3)
    assert first.next_offsets == {T0: OffsetAndMetadata(2, "", 4), T1: OffsetAndMetadata(1, "", 0)}
    assert w.subscriptions.position(T0) == FetchPosition(2, 4, LeaderAndEpoch(1, 5))
    second = w.collect()
    assert (offsets(second, T1), second.count) == ([1], 1)
    assert w.collect().is_empty
    event = w.told(RecordsReturned)[0]
    assert (event.partition, event.record_count, event.next_offset) == ("t-0", 2, 2)
    assert (event.lag, event.lead) == (98, 2)


def test_a_position_that_only_moves_is_a_result(started, responses, make_batch):
    w, sent = started(isolation_level="read_committed")
    data = {"records": make_batch(0, [b"a"], producer_id=1, transactional=True), "aborted": [(1, 0)]}
    w.reply(sent, responses.fetch(sent, {T0: data, T1: {}}))
    fetch = w.collect()
    assert (fetch.count, fetch.position_advanced, fetch.is_empty) == (0, True, False)
    assert w.subscriptions.position(T0).offset == 1


@pytest.mark.parametrize("when", ["before the first look", "between two portions"])
def test_data_from_before_a_seek_is_dropped(started, responses, make_batch, when):
    """CSM-FET-03: the first record is the one of the seek."""
    w, sent = started(max_poll_records=1)
    w.reply(sent, responses.fetch(sent, {T0: {"records": make_batch(0, [b"a", b"b", b"c"])}, T1: {}}))
    if when == "between two portions":
        assert offsets(w.collect(), T0) == [0]
    w.subscriptions.seek(T0, 2)
    assert w.collect().is_empty
    assert w.told(FetchDropped)[0].partition == "t-0"
    assert w.subscriptions.position(T0).offset == 2


@pytest.mark.parametrize("how", ["unassigned", "reset", "revoked"])
def test_data_of_a_partition_that_is_not_read_any_more_is_dropped(started, responses, make_batch, how):
    w, sent = started(max_poll_records=1)
    w.reply(sent, responses.fetch(sent, {T0: {"records": make_batch(0, [b"a", b"b"])}, T1: {}}))
    w.collect()
    if how == "unassigned":
        w.assign({T1: 0})
    elif how == "reset":
        w.subscriptions.request_offset_reset(T0)
    else:
        w.subscriptions.mark_pending_revocation([T0])
    assert w.collect().is_empty
    assert not w.fetcher.has_available_fetches


def test_a_seek_in_a_deserializer_leaves_its_records_out(started, responses, make_batch):
    class Seeking:
        def deserialize(self, topic, data, headers):
            w.subscriptions.seek(T0, 7)
            return data

    w, sent = started(Deserializers(value=Seeking()))
    w.reply(sent, responses.fetch(sent, {T0: {"records": make_batch(0, [b"a"])}, T1: {}}))
    assert w.collect().is_empty
    assert w.subscriptions.position(T0).offset == 7


def test_good_records_come_before_an_error(started, responses, make_batch):
    """CSM-FET-09: also those of other partitions. The error comes with the next call, and again after it."""

    class Picky:
        def deserialize(self, topic, data, headers):
            return int(data)

    w, sent = started(Deserializers(value=Picky()))
    parts = {T0: {"records": make_batch(0, [b"1", b"x"])}, T1: {"records": make_batch(0, [b"2"])}}
    w.reply(sent, responses.fetch(sent, parts))
    assert offsets(w.collect(), T0) == [0]
    for _ in range(2):
        with pytest.raises(RecordDeserializationError) as caught:
            w.collect()
        assert (caught.value.partition, caught.value.offset) == (T0, 1)
        assert w.subscriptions.position(T0).offset == 1
    w.subscriptions.seek(T0, 2)
    assert offsets(w.collect(), T1) == [0]


def test_a_corrupt_batch_is_passed_by_a_seek_only(started, responses, make_batch):
    w, sent = started()
    broken = make_batch(0, [b"a"])[:-1] + b"\1"
    w.reply(sent, responses.fetch(sent, {T0: {"records": broken}, T1: {}}))
    for _ in range(2):
        with raises_code(CorruptRecordError, "record-corrupt", partition="t-0", offset="0"):
            w.collect()
    w.subscriptions.seek_validated(T0, FetchPosition(1, None, LeaderAndEpoch(1, 5)))
    assert w.collect().is_empty
    [sent] = w.fetch()
    assert sent.partitions[T0].fetch_offset == 1


def failed(started, responses, name, deserializers=None, **given):
    """Return a bench whose partition 0 got an error, before ``collect``."""
    w, sent = started(deserializers, **given)
    w.reply(sent, responses.fetch(sent, {T0: {"error_code": BY_NAME[name].code}, T1: {}}))
    return w


@pytest.mark.parametrize(
    "name",
    [
        "NOT_LEADER_OR_FOLLOWER",
        "REPLICA_NOT_AVAILABLE",
        "KAFKA_STORAGE_ERROR",
        "FENCED_LEADER_EPOCH",
        "OFFSET_NOT_AVAILABLE",
        "UNKNOWN_TOPIC_OR_PARTITION",
        "UNKNOWN_TOPIC_ID",
        "INCONSISTENT_TOPIC_ID",
    ],
)
def test_an_error_of_leadership_requests_metadata_and_keeps_the_position(started, responses, name):
    w = failed(started, responses, name)
    w.subscriptions.prefer_replica(T0, 2, 1 << 40)
    assert not w.metadata.is_update_requested
    assert w.collect().is_empty
    assert w.metadata.is_update_requested
    assert w.subscriptions.preferred_replica(T0, 0) is None
    assert w.subscriptions.valid_position(T0).offset == 0
    assert [event.error for event in w.told(FetchFailed)] == [name]
    assert w.subscriptions.assigned == [T1, T0], "the others are read first"


@pytest.mark.parametrize("name", ["UNKNOWN_LEADER_EPOCH", "UNKNOWN_SERVER_ERROR"])
def test_some_errors_change_nothing(started, responses, name):
    w = failed(started, responses, name)
    assert w.collect().is_empty
    assert not w.metadata.is_update_requested
    assert w.subscriptions.valid_position(T0).offset == 0


@pytest.mark.parametrize(
    ("name", "kind", "error"),
    [
        ("CORRUPT_MESSAGE", CorruptRecordError, "record-corrupt"),
        ("INVALID_REQUEST", ResponseError, "fetch-refused"),
    ],
)
def test_a_final_error_is_raised_with_partition_and_offset(started, responses, name, kind, error):
    w = failed(started, responses, name)
    with raises_code(kind, error, partition="t-0", offset="0"):
        w.collect()
    assert w.subscriptions.valid_position(T0).offset == 0


def test_out_of_range_resets_by_the_policy(started, responses):
    w = failed(started, responses, "OFFSET_OUT_OF_RANGE", auto_offset_reset="earliest")
    assert w.collect().is_empty
    assert w.subscriptions.needing_reset(w.clock.now_ms) == [T0]
    assert w.subscriptions.state(T0).strategy == "earliest"


def test_out_of_range_without_policy_is_raised_and_the_position_stays(started, responses):
    w = failed(started, responses, "OFFSET_OUT_OF_RANGE", auto_offset_reset="none")
    with pytest.raises(OffsetOutOfRangeError) as caught:
        w.collect()
    assert caught.value.offsets == {T0: 0}
    assert w.subscriptions.valid_position(T0).offset == 0


@pytest.mark.parametrize("policy", ["none", "latest"])
def test_out_of_range_of_a_follower_goes_back_to_the_leader_first(started, responses, policy):
    """CSM-FET-06, KIP-392."""
    w = failed(started, responses, "OFFSET_OUT_OF_RANGE", auto_offset_reset=policy)
    w.subscriptions.prefer_replica(T0, 2, 1 << 40)
    assert w.collect().is_empty
    assert w.subscriptions.preferred_replica(T0, 0) is None
    assert w.subscriptions.valid_position(T0).offset == 0


@pytest.mark.parametrize("policy", ["none", "latest"])
def test_out_of_range_of_an_older_position_is_ignored(started, responses, policy):
    w = failed(started, responses, "OFFSET_OUT_OF_RANGE", auto_offset_reset=policy)
    w.subscriptions.seek(T0, 3)
    assert w.collect().is_empty
    assert w.subscriptions.valid_position(T0).offset == 3


def test_an_error_of_a_partition_that_is_gone_is_ignored(started, responses):
    w = failed(started, responses, "CORRUPT_MESSAGE")
    w.assign({T1: 0})
    assert w.collect().is_empty


def test_an_error_behind_records_of_another_partition_waits_for_the_next_call(started, responses, make_batch):
    w, sent = started()
    refused = {"error_code": BY_NAME["INVALID_REQUEST"].code}
    w.reply(sent, responses.fetch(sent, {T0: {"records": make_batch(0, [b"a"])}, T1: refused}))
    assert offsets(w.collect(), T0) == [0]
    with raises_code(ResponseError, "fetch-refused", partition="t-1"):
        w.collect()
    assert w.collect().is_empty


def test_a_response_for_an_older_position_tells_nothing_of_the_log(started, responses):
    w, sent = started()
    w.reply(sent, responses.fetch(sent, {T0: {"high_watermark": 44}, T1: {"high_watermark": 55}}))
    w.subscriptions.seek(T0, 3)
    w.collect()
    assert w.subscriptions.state(T0).high_watermark is None
    assert w.subscriptions.state(T1).high_watermark == 55
