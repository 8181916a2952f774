"""Codecs: round trips, the Java client's formats, damaged data, and oversized data."""

from __future__ import annotations

import gzip
import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.wire.errors import WireError
from harness.wire.records.codecs import Codec, compress, decompress
from testkit.codes import raises_code

pytestmark = pytest.mark.long("compresses and decompresses much data")

PACKING = [codec for codec in Codec if codec is not Codec.NONE]
LIMIT = 1 << 20

plain = st.binary(max_size=2000) | st.builds(
    lambda unit, times: unit * times, st.binary(min_size=1, max_size=8), st.integers(1, 20_000)
)


@pytest.mark.parametrize("codec", list(Codec))
@given(data=plain)
def test_compressed_data_is_read_back(codec: Codec, data: bytes) -> None:
    assert decompress(codec, compress(codec, data), LIMIT) == data


@pytest.mark.parametrize("codec", list(Codec))
def test_incompressible_data_of_many_blocks_is_read_back(codec: Codec) -> None:
    data = random.Random(7).randbytes(300_000)
    packed = compress(codec, data)
    assert decompress(codec, packed, LIMIT) == data
    assert compress(codec, data) == packed, "the same records must give the same bytes"


@pytest.mark.parametrize("codec", list(Codec))
def test_a_view_is_read_and_results_share_no_memory(codec: Codec) -> None:
    first = decompress(codec, memoryview(compress(codec, b"first" * 100)), LIMIT)
    second = decompress(codec, memoryview(compress(codec, b"other" * 100)), LIMIT)
    assert (first, second) == (b"first" * 100, b"other" * 100)
    assert type(first) is bytes


@pytest.mark.parametrize("codec", PACKING)
def test_threads_that_decompress_at_the_same_time_share_no_buffer(codec: Codec) -> None:
    plains = [bytes([number]) * (300_000 + number) for number in range(8)]
    packed = [compress(codec, each) for each in plains]
    with ThreadPoolExecutor(8) as threads:
        read = list(threads.map(lambda number: decompress(codec, packed[number % 8], LIMIT), range(200)))
    assert read == [plains[number % 8] for number in range(200)]


@pytest.mark.parametrize("codec", PACKING)
@given(size=st.integers(2, 100_000))
def test_the_limit_is_exact(codec: Codec, size: int) -> None:
    packed = compress(codec, bytes(size))
    assert decompress(codec, packed, size) == bytes(size)
    with raises_code(WireError, "decompressed-too-large"):
        decompress(codec, packed, size - 1)


@pytest.mark.parametrize("codec", PACKING)
def test_a_bomb_is_refused(codec: Codec) -> None:
    packed = compress(codec, bytes(64 * LIMIT))
    with raises_code(WireError, "decompressed-too-large", max_bytes=1048576):
        decompress(codec, packed, LIMIT)


@pytest.mark.parametrize("codec", PACKING)
@given(garbage=st.binary(max_size=100))
def test_garbage_raises_nothing_but_a_wire_error(codec: Codec, garbage: bytes) -> None:
    with suppress(WireError):
        decompress(codec, garbage, LIMIT)


@pytest.mark.parametrize("codec", PACKING)
@given(data=st.binary(min_size=1, max_size=300), where=st.data())
def test_damaged_data_raises_nothing_but_a_wire_error(
    codec: Codec, data: bytes, where: st.DataObject
) -> None:
    packed = bytearray(compress(codec, data))
    at = where.draw(st.integers(0, len(packed) - 1))
    packed[at] ^= where.draw(st.integers(1, 255))
    with suppress(WireError):
        decompress(codec, bytes(packed), LIMIT)


@pytest.mark.parametrize("codec", PACKING)
def test_every_cut_is_refused(codec: Codec) -> None:
    packed = compress(codec, b"kafka " * 50)
    # A xerial stream has no end mark, so that a cut between two blocks gives a valid, shorter stream.
    whole = {16} if codec is Codec.SNAPPY else set()
    for end in set(range(len(packed))) - whole:
        with pytest.raises(WireError):
            decompress(codec, packed[:end], LIMIT)


def test_gzip_is_compatible_with_python() -> None:
    assert gzip.decompress(compress(Codec.GZIP, b"kafka")) == b"kafka"
    assert decompress(Codec.GZIP, gzip.compress(b"kafka"), LIMIT) == b"kafka"


def test_snappy_is_written_in_xerial_blocks() -> None:
    data = bytes(32 * 1024) + b"tail"
    packed = compress(Codec.SNAPPY, data)
    assert packed.startswith(b"\x82SNAPPY\x00" + bytes.fromhex("00000001 00000001"))
    first = int.from_bytes(packed[16:20], "big")
    assert bytes(cramjam.snappy.decompress_raw(packed[20 : 20 + first])) == bytes(32 * 1024)
    assert bytes(cramjam.snappy.decompress_raw(packed[24 + first :])) == b"tail"


@given(plain)
def test_raw_snappy_is_read(data: bytes) -> None:
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(data)), LIMIT) == data


def test_snappy_with_a_claimed_size_of_four_gigabytes_is_refused() -> None:
    with raises_code(WireError, "decompressed-too-large"):
        decompress(Codec.SNAPPY, b"\xff\xff\xff\xff\x0f123", LIMIT)


def test_snappy_blocks_share_the_limit() -> None:
    packed = compress(Codec.SNAPPY, bytes(3 * 32 * 1024))
    with raises_code(WireError, "decompressed-too-large"):
        decompress(Codec.SNAPPY, packed, 2 * 32 * 1024)


def test_lz4_is_a_frame_of_independent_blocks() -> None:
    packed = compress(Codec.LZ4, b"kafka" * 100)
    assert packed[:4] == bytes.fromhex("04224d18")
    version, independent = packed[4] >> 6, packed[4] & 0x20
    assert (version, independent) == (1, 0x20)


LEVELS = {Codec.GZIP: (-1, 1, 6, 9), Codec.LZ4: (1, 2, 3, 9, 12, 17), Codec.ZSTD: (-131072, -1, 0, 1, 3, 22)}
DEFAULT_LEVEL = {Codec.GZIP: -1, Codec.LZ4: 9, Codec.ZSTD: 3}


def text(size: int) -> bytes:
    chosen = random.Random(3)
    return b"".join(b"word%d " % chosen.randrange(500) for _ in range(size))


@pytest.mark.parametrize(("codec", "level"), [(codec, level) for codec in LEVELS for level in LEVELS[codec]])
def test_every_level_is_read_back(codec: Codec, level: int) -> None:
    data = text(20_000)
    assert decompress(codec, compress(codec, data, level), LIMIT) == data


@pytest.mark.parametrize("codec", LEVELS)
def test_levels_differ_and_the_default_level_is_used(codec: Codec) -> None:
    data = text(5_000)
    low, *_, high = (len(compress(codec, data, level)) for level in LEVELS[codec] if level >= 1)
    assert high < low
    assert compress(codec, data) == compress(codec, data, DEFAULT_LEVEL[codec])


def test_only_the_default_level_of_lz4_is_the_fast_compressor() -> None:
    data = text(5_000)
    fast = compress(Codec.LZ4, data)
    assert all(len(compress(Codec.LZ4, data, level)) < len(fast) for level in range(1, 18) if level != 9)


@pytest.mark.parametrize(
    ("codec", "level"),
    [
        (Codec.GZIP, 0),
        (Codec.GZIP, 10),
        (Codec.LZ4, 0),
        (Codec.LZ4, 18),
        (Codec.ZSTD, 23),
        (Codec.ZSTD, -131073),
    ],
)
def test_unknown_levels_are_refused(codec: Codec, level: int) -> None:
    with raises_code(WireError, "compression-level", level=level):
        compress(codec, b"kafka", level)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.SNAPPY])
def test_codecs_without_levels_ignore_the_level(codec: Codec) -> None:
    assert compress(codec, b"kafka", 99) == compress(codec, b"kafka")
