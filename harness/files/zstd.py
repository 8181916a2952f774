"""Rows at rest: one zstd frame a file, with its length and its checksum. ``zstdcat`` shows what is in it.

What a file claims is not believed: at most a given number of bytes comes out of it, and anything but one whole frame is
an error. Files of such rows are named ``.zst``; those of older runs are plain, and are read as well.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import zstandard

from harness.files import MOST_BYTES

SUFFIX: Final = ".zst"
#: A tenth of the size or less, in two milliseconds a trial; higher levels take five times as long for a sixth of that.
_LEVEL: Final = 3

#: What headers, one block of nothing and a checksum take at most.
_LONGEST_EMPTY: Final = 25


class Damaged(ValueError):
    """It is not one whole frame, or holds too much; the message says which."""


def packed(data: bytes) -> bytes:
    """``data`` as one frame; the same data gives the same frame. Damaged if it is more than could be read again."""
    _assert_bounded(len(data), MOST_BYTES)
    return zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(data)


def unpacked(frame: bytes, most_bytes: int = MOST_BYTES) -> bytes:
    """What is in ``frame``, at most ``most_bytes``. Damaged for anything else than one whole frame."""
    try:
        size = zstandard.get_frame_parameters(frame).content_size
        if size == zstandard.CONTENTSIZE_UNKNOWN:  # made by a pipe
            size = most_bytes
        _assert_bounded(size, most_bytes)
        if size == 0:
            return _nothing(frame)
        decompressor = zstandard.ZstdDecompressor()
        return decompressor.decompress(frame, max_output_size=most_bytes, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise Damaged(f"it is not one whole zstd frame of at most {most_bytes:,} bytes: {error}") from error


def _nothing(frame: bytes) -> bytes:
    """A frame that says it is empty, which the library would not look into."""
    stream = zstandard.ZstdDecompressor().decompressobj()
    if len(frame) > _LONGEST_EMPTY or stream.decompress(frame) or not stream.eof or stream.unused_data:
        raise zstandard.ZstdError("it says that it is empty, and is not")
    return b""


def at_rest(path: Path) -> Path:
    """Under which name the rows of ``path`` are kept."""
    return path.with_name(path.name + SUFFIX)


def _assert_bounded(size: int, most_bytes: int) -> None:
    if size > most_bytes:
        raise Damaged(f"it holds {size:,} bytes; {most_bytes:,} can be read")
