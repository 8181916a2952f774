"""The codec returns a value or raises WireError for any bytes, in time and memory that depend on the input."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from benchmarks.hostile.codec import RECORD_READERS, run
from harness.model.dice import Dice
from harness.wire.apis import Api
from harness.wire.errors import WireError
from harness.wire.messages import decode_request, decode_response
from harness.wire.primitives import read_tags, write_uvarint
from harness.wire.records import BatchBuilder, Codec, read_batches
from testkit.codes import raises_code
from testkit.hostile import BOMBS, RealFrame, real_frame

pytestmark = pytest.mark.long("thousands of hostile frames")

MIB = 1 << 20
TAGS = 1 << 15


@contextmanager
def at_most(limit_bytes: int) -> Iterator[None]:
    """Assert that the peak memory stays below this limit."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] <= limit_bytes
    finally:
        tracemalloc.stop()


def test_hostile_frames_are_decoded_or_refused() -> None:
    assert run(seed=11, frames=3_000).found == []


def read(real: RealFrame, payload: bytes) -> Any:
    if real.kind == "request":
        return decode_request(payload)
    return decode_response(payload, real.api_key, real.api_version)


@pytest.mark.parametrize(
    "api", [Api.PRODUCE, Api.METADATA, Api.API_VERSIONS, Api.FETCH, Api.INIT_PRODUCER_ID]
)
@pytest.mark.parametrize("kind", ["request", "response"])
def test_truncated_message_is_refused(api: Api, kind: Any) -> None:
    dice = Dice(2, f"{api}/{kind}")
    for _ in range(10):
        real = real_frame(dice, api, kind=kind)
        payload = real.data[4:]
        for end in range(min(len(payload), 300)):
            with pytest.raises(WireError):
                read(real, payload[:end])


def test_hostile_records_are_decoded_or_refused(hostile_batches: list[bytes]) -> None:
    refused = 0
    for records in hostile_batches:
        for read_one in RECORD_READERS:
            try:
                read_one(records)
            except WireError:
                refused += 1
    assert refused > len(hostile_batches) // 4


@pytest.mark.parametrize("codec", BOMBS)
def test_compression_bomb_stays_within_memory_limit(codec: Codec) -> None:
    builder = BatchBuilder(codec)
    builder.append(0, None, bytes(32 * MIB))
    bomb = builder.build()
    with at_most(len(bomb) + 3 * MIB), raises_code(WireError, "decompressed-too-large"):
        list(read_batches(bomb, max_decompressed_bytes=MIB))


def _tags(count: int) -> bytes:
    return write_uvarint(count) + b"\x63\x00" * count


@pytest.mark.parametrize("wanted", [(), {0x63}])
def test_tagged_fields_are_not_kept_in_memory(wanted: Any) -> None:
    data = _tags(TAGS)
    with at_most(64 << 10):
        tags, at = read_tags(data, 0, wanted)
    assert (len(tags), at) == (len(wanted), len(data))


@pytest.mark.parametrize(
    "read_message",
    [
        lambda: decode_request(b"\0\x12\0\4\0\0\0\1\xff\xff" + _tags(TAGS)),
        lambda: decode_response(b"\0\0\0\1" + _tags(TAGS), Api.METADATA, 12),
        lambda: decode_response(b"\0\0\0\1\0\0\1\0\0\0\0" + _tags(TAGS), Api.API_VERSIONS, 4),
    ],
    ids=["request header", "response header", "body"],
)
def test_message_of_tagged_fields_takes_bounded_memory(read_message: Callable[[], Any]) -> None:
    with suppress(WireError):
        read_message()  # compiling the reader at the first use takes memory, which is not counted
    with at_most(MIB), suppress(WireError):
        read_message()
