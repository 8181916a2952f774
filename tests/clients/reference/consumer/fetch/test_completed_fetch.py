"""CompletedFetch: which records it returns, and where the position is afterwards (CSM-FET-02, -04, -05, -09)."""

from __future__ import annotations

import struct

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.consumer.deserializers import Deserializers, IntegerDeserializer
from clients.reference.consumer.errors import CorruptRecordError, RecordDeserializationError
from clients.reference.consumer.fetch.completed_fetch import CompletedFetch
from clients.reference.consumer.fetch.fetch_request import FetchSettings
from clients.reference.consumer.fetch.fetch_response import FetchedPartition
from harness.wire.records import BatchBuilder, Codec, end_transaction_marker, read_batches
from testkit.codes import raises_code

PARTITION = ("t", 0)
BYTES = Deserializers()
COMMITTED = FetchSettings(isolation_level="read_committed")


def fetched(*batches, offset=0, settings=None, aborted=()):
    data = FetchedPartition(records=b"".join(batches), aborted=tuple(aborted))
    return CompletedFetch(PARTITION, data, offset, settings or FetchSettings())


def marker(kind, offset, producer_id):
    return end_transaction_marker(kind, producer_id, 0, 1_000, base_offset=offset)


def rewritten(data, last_offset_delta=None, record_count=None, records=None):
    """Return a batch with other fields and a CRC that matches, as compaction leaves it."""
    header, payload = bytearray(data[:61]), data[61:] if records is None else records
    if last_offset_delta is not None:
        struct.pack_into(">i", header, 23, last_offset_delta)
    if record_count is not None:
        struct.pack_into(">i", header, 57, record_count)
    struct.pack_into(">i", header, 8, 49 + len(payload))
    struct.pack_into(">I", header, 17, crc32c(payload, crc32c(bytes(header[21:]))))
    return bytes(header) + payload


def everything(run, fetch, most=500, deserializers=BYTES):
    """Take all records in portions. Return them, and the position after each portion."""
    records, positions = [], []
    while not fetch.is_consumed:
        records += run(fetch.fetch_records(deserializers, most))
        positions.append(fetch.next_fetch_offset)
    return records, positions


@given(st.data())
def test_records_are_those_of_the_batches_in_portions_of_any_size(run, make_batch, data):
    """The same records as a plain decoder gives, from any position, for every codec and portion."""
    batches, at = [], data.draw(st.integers(0, 1 << 40))
    first = at
    for _ in range(data.draw(st.integers(1, 4))):
        values = data.draw(st.lists(st.none() | st.binary(max_size=9), min_size=1, max_size=5))
        codec = data.draw(st.sampled_from(Codec))
        batches.append(
            make_batch(at, values, codec=codec, epoch=len(batches), key=data.draw(st.none() | st.binary()))
        )
        at += len(values) + data.draw(st.integers(0, 3))
    expected = [
        (record.offset, record.key, record.value, batch.header.partition_leader_epoch)
        for batch in read_batches(b"".join(batches))
        for record in batch.records
    ]
    begin = data.draw(st.integers(first, expected[-1][0]))
    fetch = fetched(*batches, offset=begin)
    records, positions = everything(run, fetch, data.draw(st.integers(1, 7)))
    seen = [(each.offset, each.key, each.value, each.leader_epoch) for each in records]
    assert seen == [each for each in expected if each[0] >= begin]
    assert positions == sorted(positions)
    assert fetch.next_fetch_offset == expected[-1][0] + 1
    assert fetch.records_read == len(records)


def test_a_record_has_javas_fields(run):
    builder = BatchBuilder(base_timestamp_ms=1_000)
    builder.append(1_500, b"key", None, [("h", None)])
    [record] = run(
        fetched(builder.build(base_offset=7, partition_leader_epoch=3), offset=7).fetch_records(BYTES, 5)
    )
    assert (record.topic, record.partition, record.offset, record.leader_epoch) == ("t", 0, 7, 3)
    assert (record.key, record.value, record.headers) == (b"key", None, (("h", None),))
    assert (record.timestamp_ms, record.timestamp_type) == (1_500, "CreateTime")
    assert (record.serialized_key_size_bytes, record.serialized_value_size_bytes) == (3, -1)


def test_without_data_the_position_stays(run):
    fetch = fetched(offset=5)
    assert everything(run, fetch) == ([], [5])
    assert fetch.last_epoch is None


def test_the_position_moves_over_what_compaction_removed(run, make_batch):
    """A batch keeps its last offset when its last records are gone, and may have no records at all."""
    shortened = rewritten(make_batch(0, [b"a", b"b"]), last_offset_delta=9)
    empty = rewritten(make_batch(10, [b"c"], epoch=4), last_offset_delta=4, record_count=0, records=b"")
    fetch = fetched(shortened, empty)
    records, _ = everything(run, fetch)
    assert [record.offset for record in records] == [0, 1]
    assert (fetch.next_fetch_offset, fetch.last_epoch) == (15, 4)


def test_the_position_moves_over_control_batches(run, make_batch):
    fetch = fetched(marker("COMMIT", 0, 1), make_batch(1, [b"a"]), marker("ABORT", 2, 1))
    records, _ = everything(run, fetch)
    assert [record.offset for record in records] == [1]
    assert fetch.next_fetch_offset == 3


def test_read_committed_leaves_out_aborted_transactions_only(run, make_batch):
    """CSM-FET-05: interleaved producers, an open end, records without transaction, a marker that is not listed."""
    log = [
        make_batch(0, [b"aborted"], producer_id=1, transactional=True),
        make_batch(1, [b"committed"], producer_id=2, transactional=True),
        make_batch(2, [b"idempotent"], producer_id=1),
        make_batch(3, [b"aborted"], producer_id=1, transactional=True),
        marker("ABORT", 4, 1),
        marker("ABORT", 5, 3),
        make_batch(6, [b"next"], producer_id=1, transactional=True),
        marker("COMMIT", 7, 2),
        marker("COMMIT", 8, 1),
        make_batch(9, [b"plain"]),
    ]
    fetch = fetched(*log, settings=COMMITTED, aborted=[(1, 0)])
    records, _ = everything(run, fetch)
    assert [record.value for record in records] == [b"committed", b"idempotent", b"next", b"plain"]
    dirty, _ = everything(run, fetched(*log, aborted=[(1, 0)]))
    assert [record.offset for record in dirty] == [0, 1, 2, 3, 6, 9]


def test_a_marker_ends_a_transaction_whose_records_are_all_gone(run, make_batch):
    """The records were compacted away, so only the marker shows that the transaction began and ended."""
    log = [
        marker("ABORT", 4, 1),
        make_batch(5, [b"next"], producer_id=1, transactional=True),
        marker("COMMIT", 6, 1),
    ]
    records, _ = everything(run, fetched(*log, offset=4, settings=COMMITTED, aborted=[(1, 2)]))
    assert [record.value for record in records] == [b"next"]


def test_several_aborted_transactions_of_one_producer(run, make_batch):
    log, aborted = [], []
    for at in range(0, 12, 4):
        log += [make_batch(at, [b"no", b"no"], producer_id=1, transactional=True), marker("ABORT", at + 2, 1)]
        log.append(make_batch(at + 3, [b"yes"]))
        aborted.append((1, at))
    records, _ = everything(run, fetched(*log, settings=COMMITTED, aborted=reversed(aborted)), most=1)
    assert [record.offset for record in records] == [3, 7, 11]


def test_only_markers_move_the_position(run, make_batch):
    fetch = fetched(
        make_batch(0, [b"no"], producer_id=1, transactional=True),
        marker("ABORT", 1, 1),
        settings=COMMITTED,
        aborted=[(1, 0)],
    )
    assert everything(run, fetch) == ([], [2])


def flipped(data, at):
    changed = bytearray(data)
    changed[at] ^= 1
    return bytes(changed)


def test_a_wrong_crc_stops_after_the_good_records(run, make_batch):
    fetch = fetched(make_batch(0, [b"a", b"b"]), flipped(make_batch(2, [b"c"]), -1), make_batch(3, [b"d"]))
    assert [each.offset for each in run(fetch.fetch_records(BYTES, 500))] == [0, 1]
    for _ in range(2):
        with raises_code(CorruptRecordError, "record-corrupt", partition="t-0", offset="2") as caught:
            run(fetch.fetch_records(BYTES, 500))
        assert (caught.value.partition, caught.value.offset) == (PARTITION, 2)
        assert (fetch.next_fetch_offset, fetch.is_consumed) == (2, False)


def test_the_position_moves_before_an_error_is_raised(run, make_batch):
    fetch = fetched(marker("COMMIT", 0, 1), flipped(make_batch(1, [b"c"]), -1))
    assert run(fetch.fetch_records(BYTES, 500)) == []
    assert fetch.next_fetch_offset == 1
    with pytest.raises(CorruptRecordError):
        run(fetch.fetch_records(BYTES, 500))


def test_without_crc_check_a_wrong_crc_is_not_seen(run, make_batch):
    unchecked = FetchSettings(check_crcs=False)
    fetch = fetched(flipped(make_batch(0, [b"a"]), -2), settings=unchecked)
    [record] = run(fetch.fetch_records(BYTES, 500))
    assert record.value == bytes([ord("a") ^ 1])


def test_an_invalid_record_stops_after_the_good_records(run, make_batch):
    good = make_batch(5, [b"a", b"b"])
    broken = rewritten(good, record_count=3)
    fetch = fetched(broken, offset=5)
    assert [each.offset for each in run(fetch.fetch_records(BYTES, 500))] == [5, 6]
    with raises_code(CorruptRecordError, "record-corrupt", partition="t-0", offset="7"):
        run(fetch.fetch_records(BYTES, 500))
    assert fetch.bytes_read == len(good) - 61


def test_bytes_after_the_last_record_are_an_error(run, make_batch):
    fetch = fetched(rewritten(make_batch(0, [b"a", b"b"]), record_count=1))
    assert [each.offset for each in run(fetch.fetch_records(BYTES, 500))] == [0]
    with raises_code(CorruptRecordError, "record-corrupt", partition="t-0", offset="1"):
        run(fetch.fetch_records(BYTES, 500))
    assert fetch.bytes_read == len(make_batch(0, [b"a"])) - 61


@pytest.mark.parametrize("taken", [0, 1, 2, 3])
def test_the_end_is_reported_once_with_what_was_taken(run, make_batch, taken):
    fetch, ends = fetched(make_batch(0, [b"a", b"b"])), []
    fetch.on_end = lambda ended: ends.append((ended.records_read, ended.bytes_read))
    for _ in range(taken):
        run(fetch.fetch_records(BYTES, 1))
    assert len(ends) == (taken == 3)  # two records, and the end of the data
    fetch.drain()
    fetch.drain()
    records = min(taken, 2)
    assert ends == [(records, len(make_batch(0, [b"a", b"b"][:records])) - 61 if records else 0)]


@pytest.mark.parametrize("size", [5, 60, 62])
def test_data_without_a_whole_batch_is_an_error(run, make_batch, size):
    with raises_code(CorruptRecordError, "record-corrupt", partition="t-0", offset="3"):
        run(fetched(make_batch(3, [b"abc"])[:size], offset=3).fetch_records(BYTES, 1))


def test_a_batch_that_is_cut_off_is_left_for_the_next_fetch(run, make_batch):
    fetch = fetched(make_batch(0, [b"a"]), make_batch(1, [b"b"])[:-1])
    records, _ = everything(run, fetch)
    assert [record.offset for record in records] == [0]
    assert fetch.next_fetch_offset == 1


@given(st.data())
def test_hostile_data_ends_in_records_or_in_a_named_error(run, make_batch, data):
    log = bytearray(make_batch(0, [b"a", b"b"]) + make_batch(2, [b"c"], codec=Codec.GZIP))
    for _ in range(data.draw(st.integers(1, 6))):
        log[data.draw(st.integers(0, len(log) - 1))] = data.draw(st.integers(0, 255))
    settings = FetchSettings(check_crcs=data.draw(st.booleans()), isolation_level="read_committed")
    fetch = fetched(bytes(log), settings=settings)
    try:
        everything(run, fetch, most=1)
    except CorruptRecordError as error:
        assert error.offset == fetch.next_fetch_offset


NUMBERS = Deserializers(value=IntegerDeserializer())


def number(value):
    return struct.pack(">i", value)


def test_a_record_that_is_not_deserialized_stops_the_partition(run, make_batch):
    """CSM-FET-09: the good ones first, then an error each time, and the position stays."""
    fetch = fetched(make_batch(0, [number(1), number(2), b"bad", number(4)], epoch=6))
    assert [each.value for each in run(fetch.fetch_records(NUMBERS, 500))] == [1, 2]
    for _ in range(2):
        with raises_code(RecordDeserializationError, "record-not-deserialized", partition="t-0", offset="2"):
            run(fetch.fetch_records(NUMBERS, 500))
        assert (fetch.next_fetch_offset, fetch.last_epoch, fetch.is_consumed) == (2, 6, False)


def test_a_deserializer_may_succeed_later(run, make_batch):
    class Moody:
        fails = True

        def deserialize(self, topic, data, headers):
            if data == b"b" and self.fails:
                raise ValueError("not now")
            return data.decode()

    moody = Moody()
    fetch = fetched(make_batch(0, [b"a", b"b", b"c"]), make_batch(3, [b"d"]))
    texts = Deserializers(value=moody)
    assert [each.value for each in run(fetch.fetch_records(texts, 500))] == ["a"]
    with pytest.raises(RecordDeserializationError):
        run(fetch.fetch_records(texts, 1))
    moody.fails = False
    assert [each.value for each in run(fetch.fetch_records(texts, 2))] == ["b", "c"]
    assert [each.value for each in run(fetch.fetch_records(texts, 2))] == ["d"]


def test_what_is_drained_is_gone(run, make_batch):
    fetch = fetched(make_batch(0, [b"a", b"b"]))
    run(fetch.fetch_records(BYTES, 1))
    fetch.drain()
    assert fetch.is_consumed
    assert run(fetch.fetch_records(BYTES, 500)) == []
    assert fetch.next_fetch_offset == 1


@pytest.mark.parametrize("codec", list(Codec))
def test_the_memory_of_a_response_is_free_when_its_records_were_taken(run, make_batch, codec):
    """So that the next response does not need more. A buffer that something refers to cannot grow."""
    response = bytearray(make_batch(0, [b"a", b"b"], codec=codec))
    fetch = CompletedFetch(
        PARTITION, FetchedPartition(records=memoryview(response).toreadonly()), 0, FetchSettings()
    )
    records = run(fetch.fetch_records(BYTES, 1))
    with pytest.raises(BufferError):
        response.append(0)
    records += run(fetch.fetch_records(BYTES, 500))
    response.append(0)
    assert [record.value for record in records] == [b"a", b"b"]
    assert all(type(record.value) is bytes for record in records)
