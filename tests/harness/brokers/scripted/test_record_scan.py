"""The record scan agrees with the record reader, and every accepted batch can be read from the log."""

from __future__ import annotations

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from harness.brokers.scripted.partition_log import PartitionLog
from harness.brokers.scripted.record_scan import Scan, scan
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.topic_config import topic_config
from harness.wire.errors import WireError
from harness.wire.records import BatchBuilder, Codec, Record, read_batches
from harness.wire.records.codecs import compress
from harness.wire.records.decoding import read_records
from harness.wire.records.encoding import write_record
from harness.wire.records.model import BATCH_OVERHEAD_BYTES, CRC_AT, CRC_COVERS_FROM, BatchHeader

NOW_MS = 1_750_000_000_000

data = st.none() | st.binary(max_size=90)
headers = st.lists(st.tuples(st.text(max_size=3), data), max_size=2)
record = st.tuples(st.integers(-70, 9000), st.integers(0, 3), data, data, headers)


@st.composite
def sections(draw: st.DrawFn) -> tuple[bytes, int]:
    """Draw the records of a batch, valid or with a few bytes changed, and their claimed number."""
    made = draw(st.lists(record, min_size=1, max_size=4))
    plain = bytearray(b"".join(write_record(*each) for each in made))
    for at, byte in draw(
        st.lists(st.tuples(st.integers(0, len(plain) - 1), st.integers(0, 255)), max_size=2)
    ):
        plain[at] = byte
    cut = draw(st.integers(0, 2)) if draw(st.booleans()) else 0
    return bytes(plain[: len(plain) - cut]), len(made) + draw(st.sampled_from((0, 0, 0, 1, -1)))


def header_for(count: int) -> BatchHeader:
    builder = BatchBuilder()
    builder.append(NOW_MS, b"k", b"v")
    [batch] = read_batches(builder.build())
    h = batch.header
    return BatchHeader(0, h.length, -1, 2, 0, 0, count - 1, NOW_MS, NOW_MS, -1, -1, -1, count)


def read(plain: bytes, count: int) -> tuple[Record, ...] | None:
    try:
        return read_records(plain, header_for(count))
    except WireError:
        return None


@given(sections())
def test_scan_and_reader_agree(section: tuple[bytes, int]) -> None:
    plain, count = section
    found, records = scan(plain, count), read(plain, count)
    assert isinstance(found, Scan) == (records is not None)
    if records and isinstance(found, Scan):
        deltas = [each.timestamp_ms - NOW_MS for each in records]
        assert (found.least_delta_ms, found.greatest_delta_ms) == (min(deltas), max(deltas))
        assert [each[4] for each in found.records] == [len(each.headers) for each in records]
        assert found.all_have_keys == all(each.key is not None for each in records)
        assert found.offsets_count == ([each.offset for each in records] == list(range(count)))


@given(sections(), st.sampled_from(Codec), st.booleans())
def test_an_accepted_batch_can_be_read(section: tuple[bytes, int], codec: Codec, is_compacted: bool) -> None:
    plain, count = section
    builder = BatchBuilder(codec)
    for _ in range(max(count, 1)):
        builder.append(NOW_MS, b"k", b"v")
    batch = bytearray(builder.build()[:BATCH_OVERHEAD_BYTES] + compress(codec, plain, None))
    batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    batch[CRC_AT:CRC_COVERS_FROM] = crc32c(bytes(batch[CRC_COVERS_FROM:])).to_bytes(4, "big")
    log = PartitionLog(1000)
    config = topic_config({"cleanup.policy": "compact" if is_compacted else "delete"})
    try:
        log.append(bytes(batch), config, 0, NOW_MS)
    except RequestRefused as refused:
        assert refused.code in (ErrorCode.invalid_record, ErrorCode.unknown_server_error)
        return
    # Deleted rows too: uncompressed, a record may claim an offset before its batch, and so before the log.
    assert len(list(log.rows("t", 0, deleted=True))) == max(count, 1)


@pytest.mark.parametrize("claimed_ms", [NOW_MS - 5, NOW_MS + 500_000, -1])
def test_the_greatest_timestamp_is_computed_from_the_records(claimed_ms: int) -> None:
    builder = BatchBuilder()
    builder.append(NOW_MS, b"k", b"v")
    builder.append(NOW_MS + 7, b"k", b"v")
    batch = bytearray(builder.build())
    batch[35:43] = claimed_ms.to_bytes(8, "big", signed=True)
    batch[CRC_AT:CRC_COVERS_FROM] = crc32c(bytes(batch[CRC_COVERS_FROM:])).to_bytes(4, "big")
    log = PartitionLog(1000)
    log.append(bytes(batch), topic_config({"message.timestamp.after.max.ms": "10"}), 0, NOW_MS)
    [stored] = read_batches(log.batches[0].data)
    assert stored.crc_ok
    assert stored.header.max_timestamp_ms == NOW_MS + 7
