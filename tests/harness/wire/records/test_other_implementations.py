"""Record batches compared with other implementations: bytes made by hand, the Java client, and kio."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.records.readers import read_batch as kio_read_batch
from kio.records.schema import NewRecordBatch
from kio.records.schema import Record as KioRecord
from kio.records.schema import RecordHeader as KioHeader
from kio.records.writers import write_batch as kio_write_batch

from harness.wire.records import (
    BatchBuilder,
    Codec,
    Record,
    end_transaction_marker,
    read_batches,
)

int64s = st.integers(-(2**63), 2**63 - 1)
int32s = st.integers(-(2**31), 2**31 - 1)
int16s = st.integers(-(2**15), 2**15 - 1)
contents = st.none() | st.binary(max_size=50)
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
headers = st.lists(st.tuples(names, contents), max_size=3).map(tuple)
producers = st.tuples(int64s, int16s, int32s)


def fill(rows_: list[Any], codec: Codec = Codec.NONE) -> BatchBuilder:
    builder = BatchBuilder(codec)
    for index, row in enumerate(rows_):
        assert builder.append(*row) == index
    return builder


def slow_crc32c(data: bytes) -> int:
    """Return the CRC by the Castagnoli polynomial, computed bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def test_a_batch_matches_golden_bytes() -> None:
    covered = bytes.fromhex(
        "0010"  # attributes: transactional, not compressed, CreateTime
        "00000001"  # last offset delta
        "00000000000003e8"  # base timestamp 1000
        "00000000000003ea"  # max timestamp 1002
        "0000000000000007"  # producer id
        "0002"  # producer epoch
        "7fffffff"  # base sequence: the last before the wrap
        "00000002"  # two records
        "10 00 00 00 02 6b 02 76 00"  # 8 bytes: k and v
        "0c 00 04 02 01 00 00"  # 6 bytes: +2 ms, offset +1, null key, empty value
    )
    head = bytes.fromhex("0000000000000064000000410000000502")  # offset 100, length 65, epoch 5, magic
    golden = head + slow_crc32c(covered).to_bytes(4, "big") + covered
    builder = BatchBuilder()
    builder.append(1000, b"k", b"v")
    builder.append(1002, None, b"")
    built = builder.build(7, 2, 2**31 - 1, base_offset=100, partition_leader_epoch=5, transactional=True)
    assert built.hex(" ") == golden.hex(" ")
    assert builder.size_bytes == len(golden)

    (batch,) = read_batches(golden)
    assert batch.crc_ok
    assert batch.records == (Record(100, 1000, b"k", b"v"), Record(101, 1002, None, b""))
    header = batch.header
    assert (header.base_offset, header.last_offset, header.size_bytes) == (100, 101, len(golden))
    assert (header.producer_id, header.producer_epoch) == (7, 2)
    assert (header.base_sequence, header.last_sequence) == (2**31 - 1, 0)
    assert (header.is_transactional, header.is_control, header.codec) == (True, False, Codec.NONE)
    assert header.timestamp_type == "CreateTime"


#: The same three records, written by the Java client (kafka-clients 4.3.1) with each of its codecs.
JAVA = {
    Codec.NONE: (
        "0000000000000064000000ca0000000902240129bb00100000000200000000000003e800000000000013880000000000"
        "00004d00037ffffffe000000031e000000026b000402680104c3a902780c000102010100800200c03e0400f0016b6166"
        "6b61206b61666b61206b61666b61206b61666b61206b61666b61206b61666b61206b61666b61206b61666b61206b6166"
        "6b61206b61666b61206b61666b61206b61666b61206b61666b61206b61666b61206b61666b61206b61666b61206b6166"
        "6b61206b61666b61206b61666b61206b61666b612000"
    ),
    Codec.GZIP: (
        "00000000000000640000006e0000000902385fcf6300110000000200000000000003e800000000000013880000000000"
        "00004d00037ffffffe000000031f8b08000000000000ff9363606060ca666061ca606439bc92a982878191899191a181"
        "89e1801d0bc307c6ecc4b4ec4405fa930c00710a151299000000"
    ),
    Codec.SNAPPY: (
        "0000000000000064000000770000000902947a858c00120000000200000000000003e800000000000013880000000000"
        "00004d00037ffffffe0000000382534e41505059000000000100000001000000329901981e000000026b000402680104"
        "c3a902780c000102010100800200c03e0400f0016b61666b61206bfe0600c206000000"
    ),
    Codec.LZ4: (
        "00000000000000640000007100000009028bb51e5b00130000000200000000000003e800000000000013880000000000"
        "00004d00037ffffffe0000000304224d1860408231000000ff171e000000026b000402680104c3a902780c0001020101"
        "00800200c03e0400f0016b61666b612006005b50666b61200000000000"
    ),
    Codec.ZSTD: (
        "00000000000000640000006c000000090213ffd9e200140000000200000000000003e800000000000013880000000000"
        "00004d00037ffffffe0000000328b52ffd00587c010074021e000000026b000402680104c3a902780c00010201010080"
        "0200c03e0400f0016b61666b61200001007e49cb13010000"
    ),
}
#: A commit marker of the Java broker: producer 77, epoch 3, coordinator epoch 4, at offset 9.
JAVA_COMMIT = (
    "0000000000000009000000420000000502244dacce00300000000000000000000004d200000000000004d20000000000"
    "00004d0003ffffffff000000012000000008000000010c00000000000400"
)
JAVA_ROWS = [
    (1_000, b"k", b"", (("h", None), ("é", b"x"))),
    (999, None, None, ()),
    (5_000, b"", b"kafka " * 20, ()),
]


@pytest.mark.parametrize("codec", list(Codec))
def test_batches_of_the_java_client_are_read(codec: Codec) -> None:
    golden = bytes.fromhex(JAVA[codec])
    (batch,) = read_batches(golden)
    assert batch.crc_ok
    assert batch.records == tuple(Record(100 + i, *row) for i, row in enumerate(JAVA_ROWS))
    header = batch.header
    assert (header.producer_id, header.producer_epoch, header.partition_leader_epoch) == (77, 3, 9)
    assert (header.base_sequence, header.last_sequence) == (2**31 - 2, 0)
    assert (header.codec, header.is_transactional) == (codec, True)
    ours = fill(JAVA_ROWS, codec).build(
        77, 3, 2**31 - 2, base_offset=100, partition_leader_epoch=9, transactional=True
    )
    if codec in (Codec.NONE, Codec.SNAPPY):  # the other compressors may give different bytes
        assert ours == golden


def test_a_commit_marker_matches_that_of_the_java_broker() -> None:
    marker = end_transaction_marker(
        "COMMIT", 77, 3, 1_234, coordinator_epoch=4, base_offset=9, partition_leader_epoch=5
    )
    assert marker.hex() == JAVA_COMMIT


# kio has an independent implementation of record batches (uncompressed, with timestamps in whole seconds).
kio_rows = st.lists(
    st.tuples(st.integers(0, 2**31).map(lambda s: 1000 * s), contents, contents, headers),
    min_size=1,
    max_size=4,
)


def kio_record(index: int, timestamp_ms: int, key: Any, value: Any, headers_: Any) -> KioRecord:
    return KioRecord(
        attributes=0,  # type: ignore[arg-type]
        timestamp=datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=timestamp_ms),  # type: ignore[arg-type]
        offset=index,  # type: ignore[arg-type]
        key=key,
        value=value,
        headers=tuple(KioHeader(key=name.encode(), value=content) for name, content in headers_),
    )


@given(kio_rows, producers)
def test_kio_writes_the_same_bytes_and_reads_ours(rows_: list[Any], producer: tuple[int, int, int]) -> None:
    theirs: Any = NewRecordBatch(
        producer_id=producer[0],  # type: ignore[arg-type]
        producer_epoch=producer[1],  # type: ignore[arg-type]
        partition_leader_epoch=-1,  # type: ignore[arg-type]
        base_sequence=producer[2],  # type: ignore[arg-type]
        attributes=0,  # type: ignore[arg-type]
        records=tuple(kio_record(i, *row) for i, row in enumerate(rows_)),
    )
    out = BytesIO()
    kio_write_batch(out, theirs)
    ours = fill(rows_).build(*producer)
    assert ours == out.getvalue()
    read, size = kio_read_batch(ours, 0)
    assert size == len(ours)
    assert read.records == theirs.records
