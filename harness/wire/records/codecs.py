"""Compression: the records of a batch are compressed as one.

What is written is what the Java client writes. Snappy goes in xerial's blocks (a Java library's own framing,
which the Java client has written since the beginning; librdkafka and others write bare snappy, so both are
read); LZ4 goes in its frame format with independent blocks, for Kafka's LZ4 reader knows no other.

Reading is bounded: a few bytes can claim to be gigabytes.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final

import cramjam

from harness.wire.errors import TooLarge, WireError


class Codec(IntEnum):
    """The codecs by their number in a batch's attributes; by name as in ``compression.type``, in capitals."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


_LEVELS: Final = {Codec.GZIP: range(1, 10), Codec.LZ4: range(1, 18), Codec.ZSTD: range(-131072, 23)}
_DEFAULT_LEVELS: Final = {Codec.GZIP: -1, Codec.LZ4: 9, Codec.ZSTD: 3}
#: What gzip's -1 comes to.
_GZIP_DEFAULT: Final = 6
#: The C library's levels: 1 is its fast compressor, from 3 on it is the high one.
_LZ4_FAST: Final = 1
_LZ4_HIGH: Final = range(3, 13)
_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
#: Behind the magic the version that wrote it and the lowest one that can read it, both 1.
_XERIAL_HEADER: Final = _XERIAL_MAGIC + (1).to_bytes(4, "big") * 2
_XERIAL_BLOCK_BYTES: Final = 32 * 1024
#: How the C libraries' writer, Rust's standard library, says that the output buffer is full.
_BUFFER_FULL: Final = "failed to write whole buffer"


def compress(codec: Codec, data: bytes, level: int | None = None) -> bytes:
    """``data`` compressed as the Java client does, at a level of the codec's own (KIP-390).

    gzip has -1 (its default) and 1 to 9, lz4 1 to 17 (9), zstd -131072 to 22 (3). None is the default; snappy
    and no compression have no levels and take any. Raises :class:`WireError` for a level out of range.
    """
    if level is None or codec not in _LEVELS:
        level = _DEFAULT_LEVELS.get(codec, 0)
    elif level not in _LEVELS[codec] and level != _DEFAULT_LEVELS[codec]:
        raise WireError(f"{codec.name.lower()} has no compression level {level}")
    match codec:
        case Codec.NONE:
            return data
        case Codec.GZIP:
            return bytes(cramjam.gzip.compress(data, level=_GZIP_DEFAULT if level == -1 else level))
        case Codec.SNAPPY:
            return _xerial(data)
        case Codec.LZ4:
            return _lz4(data, level)
        case Codec.ZSTD:
            return bytes(cramjam.zstd.compress(data, level=level))


def _lz4(data: bytes, level: int) -> bytes:
    """At its default level Java takes the fast compressor, at any other the high one, which ends at 12 in C."""
    level = _LZ4_FAST if level == _DEFAULT_LEVELS[Codec.LZ4] else min(max(level, _LZ4_HIGH[0]), _LZ4_HIGH[-1])
    lz4 = cramjam.lz4.Compressor(level=level, content_checksum=False, block_linked=False)
    lz4.compress(data)
    return bytes(lz4.finish())


def decompress(codec: Codec, data: bytes, max_bytes: int) -> bytes:
    """What was compressed. Raises :class:`WireError` if it is broken, :class:`TooLarge` beyond ``max_bytes``."""
    match codec:
        case Codec.NONE:
            return data
        case Codec.GZIP:
            return _bounded(cramjam.gzip, codec, data, max_bytes)
        case Codec.SNAPPY:
            return _unsnappy(data, max_bytes)
        case Codec.LZ4:
            return _bounded(cramjam.lz4, codec, data, max_bytes)
        case Codec.ZSTD:
            return _bounded(cramjam.zstd, codec, data, max_bytes)


def _bounded(library: Any, codec: Codec, data: bytes, max_bytes: int) -> bytes:
    """Decompresses into a buffer that grows until the data fits, or the limit is reached."""
    capacity = min(max_bytes, max(4096, 8 * len(data)))
    while True:
        out = bytearray(capacity)
        try:
            size = library.decompress_into(data, out)
        except cramjam.DecompressionError as error:
            if _BUFFER_FULL not in str(error):
                raise WireError(f"broken {codec.name.lower()} data: {error}") from error
            if capacity >= max_bytes:
                raise _too_much(codec, max_bytes) from None
            capacity = min(max_bytes, 4 * capacity)
        else:
            return bytes(memoryview(out)[:size])


def _too_much(codec: Codec, max_bytes: int) -> TooLarge:
    return TooLarge(f"{codec.name.lower()} data holds more than the limit of {max_bytes} bytes")


def _xerial(data: bytes) -> bytes:
    parts = [_XERIAL_HEADER]
    for begin in range(0, len(data), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(data[begin : begin + _XERIAL_BLOCK_BYTES]))
        parts += (len(block).to_bytes(4, "big"), block)
    return b"".join(parts)


def _unsnappy(data: bytes, max_bytes: int) -> bytes:
    if not data.startswith(_XERIAL_MAGIC):
        return _unsnappy_block(data, 0, max_bytes)
    if len(data) < len(_XERIAL_HEADER):
        raise WireError("broken snappy data: the xerial header is cut off")
    parts = []
    at = len(_XERIAL_HEADER)
    held = 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big", signed=True)
        end = at + 4 + size
        if size < 0 or end > len(data):
            raise WireError(f"broken snappy data: a block of {size} bytes at {at} of {len(data)}")
        parts.append(_unsnappy_block(data[at + 4 : end], held, max_bytes))
        held += len(parts[-1])
        at = end
    return b"".join(parts)


def _unsnappy_block(data: bytes, held: int, max_bytes: int) -> bytes:
    """One block, of a stream whose blocks before it held ``held`` bytes."""
    try:
        # Snappy says at the start how much it holds: the limit is checked before anything is reserved.
        if held + cramjam.snappy.decompress_raw_len(data) > max_bytes:
            raise _too_much(Codec.SNAPPY, max_bytes)
        return bytes(cramjam.snappy.decompress_raw(data))
    except cramjam.DecompressionError as error:
        raise WireError(f"broken snappy data: {error}") from error
