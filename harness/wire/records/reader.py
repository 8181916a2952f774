"""Read batches from a Fetch response, a Produce request or a log."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from crc32c import crc32c

from harness.wire.errors import WireError
from harness.wire.makers import filler
from harness.wire.records import model
from harness.wire.records.codecs import decompress
from harness.wire.records.decoding import read_records
from harness.wire.records.model import BatchHeader, RecordBatch

#: The limit for the decompressed size of a batch, unless the caller sets another.
MAX_DECOMPRESSED_BYTES: Final = 256 * 1024 * 1024

_LENGTH_AND_MAGIC: Final = struct.Struct(">8xi4xB")
_make_header: Final = filler(BatchHeader)


class UnreadBatch:
    """A whole batch whose header was read, and nothing else. It refers to the data that it was found in."""

    __slots__ = ("_data", "header")

    def __init__(self, header: BatchHeader, data: memoryview) -> None:
        self.header = header
        self._data = data

    def crc_matches(self) -> bool:
        """Return whether the batch has the CRC that its header claims. Otherwise no part of it can be trusted."""
        return crc32c(self._data[model.CRC_COVERS_FROM :]) == self.header.crc

    def plain(self, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES) -> bytes:
        """Return the records' bytes, decompressed. Raises :class:`WireError` if they are invalid or too large."""
        data = self._data[model.BATCH_OVERHEAD_BYTES :]
        if self.header.attributes & model.CODEC_MASK:
            return decompress(self.header.codec, data, max_decompressed_bytes)
        return bytes(data)


def unread_batches(data: bytes | bytearray | memoryview) -> Iterator[UnreadBatch]:
    """Yield the batches of a ``records`` field, for callers that read them later or only in part.

    An incomplete last batch is skipped, because brokers cut a response at the fetch size. Raises :class:`WireError` at
    the first batch that is not of format 2.
    """
    view = memoryview(data)
    for header, begin in _headers(view):
        yield UnreadBatch(header, view[begin : begin + header.size_bytes])


def read_batches(
    data: bytes | bytearray | memoryview, *, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES
) -> Iterator[RecordBatch]:
    """Yield the batches of a ``records`` field one at a time, decoded. An incomplete last batch is skipped.

    A batch whose CRC does not match has ``crc_ok`` False and no records. Raises :class:`WireError` at the first batch
    that is not of format 2, is invalid in spite of a matching CRC, or decompresses to more than the limit.
    """
    for batch in unread_batches(data):
        if batch.crc_matches():
            plain = batch.plain(max_decompressed_bytes)
            yield RecordBatch(batch.header, read_records(plain, batch.header), crc_ok=True)
        else:
            yield RecordBatch(batch.header, (), crc_ok=False)


def read_headers(data: bytes | bytearray | memoryview) -> list[BatchHeader]:
    """Return the headers only. Nothing is decompressed and no CRC is checked."""
    with memoryview(data) as view:
        return [header for header, _ in _headers(view)]


def _headers(view: memoryview) -> Iterator[tuple[BatchHeader, int]]:
    """Yield each whole batch's header and the position where the batch begins."""
    at = 0
    while len(view) - at >= model.CRC_AT:
        length, magic = _LENGTH_AND_MAGIC.unpack_from(view, at)
        if magic != model.MAGIC:
            raise WireError(
                "batch-format",
                "the batch at byte {at} has the format (magic) {magic}; only 2 is read",
                at=at,
                magic=magic,
            )
        end = at + model.LENGTH_EXCLUDES_BYTES + length
        if end < at + model.BATCH_OVERHEAD_BYTES:
            raise WireError(
                "batch-length",
                "the batch at byte {at} claims a length of {length} bytes, less than its header",
                at=at,
                length=length,
            )
        if end > len(view):
            return
        yield _make_header(*model.HEADER.unpack_from(view, at)), at
        at = end
