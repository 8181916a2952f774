"""Record batches of a Fetch response that are damaged on the way, and how a row describes them. Pure.

One bit of a batch changes, so its checksum (CRC-32C over what follows it) is wrong. The fields before the checksum,
which it does not cover, and the size of the frame remain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any, Final

import msgspec
from kio.static.primitive import Records

from harness.model.consumer_rows import OffsetPart
from harness.wire.errors import WireError
from harness.wire.records import unread_batches
from harness.wire.records.model import CRC_AT
from harness.witness.rewrites import CannotRewrite, Change

#: The position in a batch, from its end, of the last value's last byte, if the last record has no headers.
_OF_LAST_VALUE: Final = -2
_LOWEST_BIT: Final = 1


def damaged(nth: int, *, in_records: bool) -> Change:
    """Return the change that damages a batch of a Fetch response: number ``nth``, from 0, and at most the last one.

    It is of the first partition with a whole batch; without one, CannotRewrite. The bit is one of the checksum or,
    with ``in_records``, of the records.
    """

    def damage(message: Any) -> Any:
        topics, is_done = [], False
        for topic in message.responses:
            partitions = []
            for part in topic.partitions:
                records = None if is_done else _damaged(part.records or b"", nth, in_records=in_records)
                is_done = is_done or records is not None
                partitions.append(part if records is None else replace(part, records=Records(records)))
            topics.append(replace(topic, partitions=tuple(partitions)))
        if not is_done:
            raise CannotRewrite("no-fetched-batch", "it has no whole batch")
        return replace(message, responses=tuple(topics))

    return damage


def _damaged(records: bytes, nth: int, *, in_records: bool) -> bytes | None:
    spans = list(
        pairwise(accumulate((each.header.size_bytes for each in unread_batches(records)), initial=0))
    )
    if not spans:
        return None
    begin, end = spans[min(nth, len(spans) - 1)]
    changed = bytearray(records)
    changed[end + _OF_LAST_VALUE if in_records else begin + CRC_AT] ^= _LOWEST_BIT
    return bytes(changed)


def with_damage(parts: Iterable[OffsetPart], message: Any) -> Iterator[OffsetPart]:
    """Yield the parts of a Fetch response, each with its first batch whose checksum is wrong."""
    answered = (part for topic in message.responses for part in topic.partitions)
    for told, part in zip(parts, answered, strict=False):
        span = _first_damaged(part.records or b"")
        yield told if span is None else msgspec.structs.replace(told, damaged=span)


def _first_damaged(records: bytes) -> tuple[int, int] | None:
    try:
        return next(
            (
                (each.header.base_offset, each.header.last_offset + 1)
                for each in unread_batches(records)
                if not each.crc_matches()
            ),
            None,
        )
    except WireError:
        return None  # not of a format that has this checksum
