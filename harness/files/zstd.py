"""Rows at rest: one zstd frame per file, with its length and its checksum. ``zstdcat`` shows the content.

A file's claims are not trusted: at most a given number of bytes is decompressed, and anything but one whole frame is an
error. Files of such rows end in ``.zst``. Those of older runs are plain, and can be read as well.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import zstandard

from harness.files import MOST_BYTES
from harness.text.sentences import Coded

SUFFIX: Final = ".zst"
#: A tenth of the size or less, in two milliseconds per trial. Higher levels take five times as long and save only
#: another sixth.
_LEVEL: Final = 3

#: The maximum for headers, one empty block and a checksum.
_LONGEST_EMPTY: Final = 25


class Damaged(Coded, ValueError):
    """The data is not one whole frame, or is too large. The message says which."""


def packed(data: bytes, most_bytes: int = MOST_BYTES) -> bytes:
    """Return ``data`` as one frame, deterministically. Raises Damaged if it is too large to be read again."""
    _assert_bounded(len(data), most_bytes)
    return zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(data)


def unpacked(frame: bytes, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the content of ``frame``, at most ``most_bytes``. Raises Damaged for anything but one whole frame."""
    try:
        size = zstandard.get_frame_parameters(frame).content_size
        if size == zstandard.CONTENTSIZE_UNKNOWN:  # written from a pipe
            size = most_bytes
        _assert_bounded(size, most_bytes)
        if size == 0:
            return _nothing(frame)
        decompressor = zstandard.ZstdDecompressor()
        return decompressor.decompress(frame, max_output_size=most_bytes, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise Damaged(
            "frame-damaged",
            "it is not one whole zstd frame of at most {most_bytes:,} bytes: {why}",
            most_bytes=most_bytes,
            why=error,
        ) from error


def _nothing(frame: bytes) -> bytes:
    """Check a frame that claims to be empty, since the library would not read its content."""
    stream = zstandard.ZstdDecompressor().decompressobj()
    if len(frame) > _LONGEST_EMPTY or stream.decompress(frame) or not stream.eof or stream.unused_data:
        raise zstandard.ZstdError("it claims to be empty, but is not")
    return b""


def at_rest(path: Path) -> Path:
    """Return the name under which the rows of ``path`` are stored."""
    return path.with_name(path.name + SUFFIX)


def _assert_bounded(size: int, most_bytes: int) -> None:
    if size > most_bytes:
        raise Damaged(
            "frame-too-large",
            "it holds {size:,} bytes; {most_bytes:,} can be read",
            size=size,
            most_bytes=most_bytes,
        )
