"""The bytes that the sticky assignors add to a member's subscription.

* sticky, version 0: what the member was last assigned. Version 1 adds the generation of that assignment.
* cooperative-sticky: the generation alone, because the subscription itself has the owned partitions (KIP-429).

The bytes have no version number. A reader tries the newer layout first. Bytes after a layout's end are ignored.

Source: StickyAssignor and CooperativeStickyAssignor.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final, NamedTuple

from clients.reference.consumer.assignors.assignor import TopicPartition, by_topic

DEFAULT_GENERATION: Final = -1
"""The generation of a member that was not assigned anything yet."""
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")


class MemberData(NamedTuple):
    """What a member owned, and since which generation. ``generation`` is None if the member did not say."""

    partitions: tuple[TopicPartition, ...] = ()
    generation: int | None = None


def encode_owned(partitions: Iterable[TopicPartition], generation: int) -> bytes:
    """Encode version 1 of sticky's user data. Topics keep the order of their first partitions."""
    topics = by_topic(partitions)
    parts = [_INT32.pack(len(topics))]
    for topic, numbers in topics.items():
        name = topic.encode()
        parts += [_INT16.pack(len(name)), name, struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)]
    return b"".join([*parts, _INT32.pack(generation)])


def decode_owned(data: bytes) -> MemberData:
    """Decode either version of sticky's user data. Bytes that are neither mean that the member owned nothing."""
    try:
        partitions, end = _read_owned(data)
    except (struct.error, ValueError):
        return MemberData(generation=DEFAULT_GENERATION)
    if end + _INT32.size > len(data):
        return MemberData(partitions)
    return MemberData(partitions, _INT32.unpack_from(data, end)[0])


def encode_generation(generation: int) -> bytes:
    """Encode cooperative-sticky's user data."""
    return _INT32.pack(generation)


def decode_generation(data: bytes | None) -> int | None:
    """Decode cooperative-sticky's user data: None without any, DEFAULT_GENERATION if it is cut off."""
    if data is None:
        return None
    return DEFAULT_GENERATION if len(data) < _INT32.size else _INT32.unpack_from(data)[0]


def _read_owned(data: bytes) -> tuple[tuple[TopicPartition, ...], int]:
    topics, at = _count(_INT32, data, 0)
    partitions = []
    for _ in range(topics):
        size, at = _count(_INT16, data, at)
        topic = struct.unpack_from(f"{size}s", data, at)[0].decode(errors="replace")
        count, at = _count(_INT32, data, at + size)
        numbers = struct.unpack_from(f">{count}i", data, at)
        at += count * _INT32.size
        partitions += [(topic, number) for number in numbers]
    return tuple(partitions), at


def _count(kind: struct.Struct, data: bytes, at: int) -> tuple[int, int]:
    (count,) = kind.unpack_from(data, at)
    if count < 0:
        raise ValueError(count)
    return count, at + kind.size
