"""Hostile record batches: wrong counts, wrong checksums, false lengths, endless varints, and decompression bombs.

Most have a valid CRC, because a reader ignores the content of a batch without one.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Final

from crc32c import crc32c

from harness.model.dice import Dice
from harness.wire.records import BATCH_OVERHEAD_BYTES, BatchBuilder, Codec

#: A reader with this limit has to reject every bomb. Most bombs contain eight times as much.
MAX_DECOMPRESSED_BYTES: Final = 1 << 20
_BOMB_BYTES: Final = 8 * MAX_DECOMPRESSED_BYTES
_CRC_AT, _COVERED_FROM, _ATTRIBUTES_AT, _COUNT_AT = 17, 21, 21, 57
_CODECS: Final = tuple(Codec)
BOMBS: Final = _CODECS[1:]
_INT32S: Final = (-(1 << 31), -1, 0, 1, 1 << 20, (1 << 31) - 1)
#: Streams that claim to contain far more than they do: bare snappy of 4 GiB, xerial with a block of 2 GiB, a zstd frame
#: with a window of 2 GiB, one of 2^62 bytes, and an LZ4 frame of the same size.
_CLAIMS: Final = (
    (Codec.SNAPPY, b"\xff\xff\xff\xff\x0f\x00"),
    (Codec.SNAPPY, b"\x82SNAPPY\x00" + bytes(3) + b"\1" + bytes(3) + b"\1\x7f\xff\xff\xff"),
    (Codec.ZSTD, b"\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00"),
    (Codec.ZSTD, b"\x28\xb5\x2f\xfd\xe0" + (1 << 62).to_bytes(8, "little") + b"\x01\x00\x00"),
    (Codec.LZ4, b"\x04\x22\x4d\x18\x68\x70" + (1 << 62).to_bytes(8, "little") + b"\x00\x00\x00\x00\x00"),
)


def hostile_records(dice: Dice) -> bytes:
    """Return the bytes of a ``records`` field: one to three batches, of which the last is damaged."""
    whole = _whole(dice.choice(_CODECS)) * dice.choice((0, 0, 1, 2))
    return whole + dice.choice(_WOUNDS)(dice)


@cache
def _whole(codec: Codec) -> bytes:
    builder = BatchBuilder(codec)
    for index in range(3):
        builder.append(1_700_000_000_000 + index, b"key", b"value" * index, (("name", b"header"),))
    return builder.build(7, 1, 40)


@cache
def _bomb(codec: Codec) -> bytes:
    builder = BatchBuilder(codec)
    builder.append(0, None, bytes(_BOMB_BYTES))
    return builder.build()


def _summed(batch: bytes | bytearray) -> bytes:
    """Return the batch with a matching length and CRC."""
    changed = bytearray(batch)
    struct.pack_into(">i", changed, 8, len(changed) - 12)
    struct.pack_into(">I", changed, _CRC_AT, crc32c(changed[_COVERED_FROM:]))
    return bytes(changed)


def _claiming(codec: Codec, payload: bytes) -> bytes:
    batch = bytearray(_whole(Codec.NONE)[:BATCH_OVERHEAD_BYTES] + payload)
    struct.pack_into(">h", batch, _ATTRIBUTES_AT, codec)
    return _summed(batch)


def _cut(dice: Dice) -> bytes:
    batch = _whole(dice.choice(_CODECS))
    return batch[: dice.between(0, len(batch))]


def _wrong_crc(dice: Dice) -> bytes:
    batch = bytearray(_whole(dice.choice(_CODECS)))
    batch[dice.between(_CRC_AT, len(batch) - 1)] ^= dice.between(1, 255)
    return bytes(batch)


def _wrong_count(dice: Dice) -> bytes:
    batch = bytearray(_whole(dice.choice(_CODECS)))
    struct.pack_into(">i", batch, _COUNT_AT, dice.choice(_INT32S))
    return _summed(batch)


def _wrong_length(dice: Dice) -> bytes:
    batch = bytearray(_whole(dice.choice(_CODECS)))
    struct.pack_into(">i", batch, 8, dice.choice(_INT32S))
    return bytes(batch)


def _changed(dice: Dice) -> bytes:
    batch = bytearray(_whole(dice.choice(_CODECS)))
    for _ in range(dice.between(1, 4)):
        batch[dice.between(_COVERED_FROM, len(batch) - 1)] = dice.choice((0, 0x7F, 0x80, 0xFF))
    return _summed(batch)


def _endless_varint(dice: Dice) -> bytes:
    batch = bytearray(_whole(Codec.NONE))
    at = dice.between(BATCH_OVERHEAD_BYTES, len(batch))
    return _summed(batch[:at] + b"\xff" * dice.choice((1, 5, 11, 1_000)))


def _bomb_of(dice: Dice) -> bytes:
    return _bomb(dice.choice(BOMBS))


def _claim_of(dice: Dice) -> bytes:
    return _claiming(*dice.choice(_CLAIMS))


_WOUNDS: Final[tuple[Callable[[Dice], bytes], ...]] = (
    _cut,
    _wrong_crc,
    _wrong_count,
    _wrong_length,
    _changed,
    _endless_varint,
    _bomb_of,
    _claim_of,
    lambda dice: b"",
)
