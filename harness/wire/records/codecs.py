"""Compression: the records of a batch are compressed as one block.

The output has the format that the Java client writes. Snappy uses xerial blocks: a framing that comes from a Java
library, and that the Java client has always written. librdkafka and others write bare snappy, so both are read. LZ4
uses its frame format with independent blocks, because Kafka's LZ4 reader supports nothing else. The size of
decompressed data is bounded, because a few bytes can claim to be gigabytes.
"""

from __future__ import annotations

from collections import deque
from enum import IntEnum
from typing import Any, Final

import cramjam

from harness.wire.errors import TooLarge, WireError
from harness.wire.primitives import Data


class Codec(IntEnum):
    """The codecs by their number in a batch's attributes. The names are those of ``compression.type``, in capitals."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


_LEVELS: Final = {Codec.GZIP: range(1, 10), Codec.LZ4: range(1, 18), Codec.ZSTD: range(-131072, 23)}
_DEFAULT_LEVELS: Final = {Codec.GZIP: -1, Codec.LZ4: 9, Codec.ZSTD: 3}
#: The level that gzip uses for -1.
_GZIP_DEFAULT: Final = 6
#: The levels of the C library: 1 selects its fast compressor, 3 and above the high compressor.
_LZ4_FAST: Final = 1
_LZ4_HIGH: Final = range(3, 13)
_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
#: After the magic: the version that wrote the data and the lowest version that can read it, both 1.
_XERIAL_HEADER: Final = _XERIAL_MAGIC + (1).to_bytes(4, "big") * 2
_XERIAL_BLOCK_BYTES: Final = 32 * 1024
#: Buffers for the output, which are used again. A new one is filled with zeros first, which takes a third of the time.
_SPARE_BYTES: Final = 1024 * 1024
_spares: Final[deque[bytearray]] = deque(maxlen=4)
#: The message of the C libraries' writer (from Rust's standard library) for a full output buffer.
_BUFFER_FULL: Final = "failed to write whole buffer"


def compress(codec: Codec, data: bytes, level: int | None = None) -> bytes:
    """Compress ``data`` as the Java client does, at a level of the codec (KIP-390).

    The levels are -1 (the default) and 1 to 9 for gzip, 1 to 17 (default 9) for lz4, and -131072 to 22 (default 3) for
    zstd. None selects the default. Snappy and no compression have no levels and ignore the argument. Raises
    :class:`WireError` for a level out of range.
    """
    if level is None or codec not in _LEVELS:
        level = _DEFAULT_LEVELS.get(codec, 0)
    elif level not in _LEVELS[codec] and level != _DEFAULT_LEVELS[codec]:
        raise WireError(
            "compression-level",
            "{codec} has no compression level {level}",
            codec=codec.name.lower(),
            level=level,
        )
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
    """Compress with LZ4 as Java does: fast at the default level, high compression at any other.

    The high compressor of the C library ends at level 12.
    """
    level = _LZ4_FAST if level == _DEFAULT_LEVELS[Codec.LZ4] else min(max(level, _LZ4_HIGH[0]), _LZ4_HIGH[-1])
    lz4 = cramjam.lz4.Compressor(level=level, content_checksum=False, block_linked=False)
    lz4.compress(data)
    return bytes(lz4.finish())


def decompress(codec: Codec, data: Data, max_bytes: int) -> bytes:
    """Decompress ``data``. Raises :class:`WireError` if it is invalid, :class:`TooLarge` beyond ``max_bytes``."""
    match codec:
        case Codec.NONE:
            return bytes(data)
        case Codec.GZIP:
            return _bounded(cramjam.gzip, codec, data, max_bytes)
        case Codec.SNAPPY:
            return _unsnappy(bytes(data), max_bytes)
        case Codec.LZ4:
            return _bounded(cramjam.lz4, codec, data, max_bytes)
        case Codec.ZSTD:
            return _bounded(cramjam.zstd, codec, data, max_bytes)


def _bounded(library: Any, codec: Codec, data: Data, max_bytes: int) -> bytes:
    """Decompress into a buffer that grows until the data fits or the limit is reached."""
    capacity = min(max_bytes, max(4096, 8 * len(data)))
    while True:
        spare = _take_spare()
        out = memoryview(spare if capacity <= len(spare) else bytearray(capacity))[:capacity]
        try:
            size = library.decompress_into(data, out)
            return bytes(out[:size])
        except cramjam.DecompressionError as error:
            if _BUFFER_FULL not in str(error):
                raise WireError(
                    "compressed-data-broken",
                    "broken {codec} data: {why}",
                    codec=codec.name.lower(),
                    why=error,
                ) from error
            if capacity >= max_bytes:
                raise _too_much(codec, max_bytes) from None
            capacity = min(max_bytes, 4 * capacity)
        finally:
            _spares.append(spare)


def _take_spare() -> bytearray:
    try:
        return _spares.pop()
    except IndexError:  # the first one, or other threads have them
        return bytearray(_SPARE_BYTES)


def _too_much(codec: Codec, max_bytes: int) -> TooLarge:
    return TooLarge(
        "decompressed-too-large",
        "{codec} data holds more than the limit of {max_bytes} bytes",
        codec=codec.name.lower(),
        max_bytes=max_bytes,
    )


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
        raise WireError("snappy-header-cut-off", "broken snappy data: the xerial header is cut off")
    parts = []
    at = len(_XERIAL_HEADER)
    held = 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big", signed=True)
        end = at + 4 + size
        if size < 0 or end > len(data):
            raise WireError(
                "snappy-block-length",
                "broken snappy data: a block of {size} bytes at {at} of {count}",
                size=size,
                at=at,
                count=len(data),
            )
        parts.append(_unsnappy_block(data[at + 4 : end], held, max_bytes))
        held += len(parts[-1])
        at = end
    return b"".join(parts)


def _unsnappy_block(data: bytes, held: int, max_bytes: int) -> bytes:
    """Decompress one block. ``held`` is the decompressed size of the earlier blocks of the stream."""
    try:
        # Snappy declares its decompressed size at the start, so the limit is checked before memory is reserved.
        if held + cramjam.snappy.decompress_raw_len(data) > max_bytes:
            raise _too_much(Codec.SNAPPY, max_bytes)
        return bytes(cramjam.snappy.decompress_raw(data))
    except cramjam.DecompressionError as error:
        raise WireError(
            "compressed-data-broken", "broken snappy data: {why}", why=error, codec="snappy"
        ) from error
