"""Find the boundaries between frames, in bounded memory.

A stream of Kafka frames is a sequence of ``size (int32) payload``. The splitter keeps a whole payload up to a limit. Of
a larger payload it keeps the beginning, which is enough for the header, and counts the rest. It only observes: the
caller has already passed the bytes on.

A large payload is not copied: it is a view of the bytes fed, or the buffer in which it was assembled.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from harness.limits.frames import MAX_PAYLOAD_BYTES, WHOLE_LIMIT_BYTES
from harness.text.sentences import Coded
from harness.wire.frames import SIZE_BYTES, is_one_frame
from harness.wire.primitives import Data

#: A response contains at least its correlation id.
MIN_PAYLOAD_BYTES = 4
HEAD_BYTES = 4 * 2**10
#: Up to this size a copy costs less than a view.
SMALL_BYTES = 4 * 2**10


class NotAFrame(Coded, ValueError):
    """The bytes are not a Kafka frame, and nothing after them on this connection can be read."""


class Piece(NamedTuple):
    """One frame: its size including the size field, and its payload, or only the head of it if not ``whole``."""

    size_bytes: int
    payload: Data
    whole: bool


class FrameSplitter:
    """One direction of one connection."""

    def __init__(self, whole_limit_bytes: int = WHOLE_LIMIT_BYTES) -> None:
        self._limit = whole_limit_bytes
        self._kept = bytearray()
        self._size: int | None = None
        self._left = 0

    @property
    def pending_bytes(self) -> int:
        """The number of bytes seen of an unfinished frame, including its size field."""
        return len(self._kept) if self._size is None else SIZE_BYTES + self._size - self._left

    def rest_bytes(self, data: bytes) -> int | None:
        """Return how many bytes, from the start of ``data``, belong to a frame that has already begun.

        Returns 0 between frames, and None if ``data`` ends inside the frame's size field, since the size is not known
        yet.
        """
        if self._size is not None:
            return self._left
        if not self._kept:
            return 0
        missing = SIZE_BYTES - len(self._kept)
        if len(data) < missing:
            return None
        return missing + max(0, int.from_bytes(self._kept + data[:missing], signed=True))

    def may_skip(self, payload: Data) -> bool:
        """Return True if feeding the frame of ``payload`` would yield exactly that, whole. It need not be fed then."""
        return self._size is None and not self._kept and MIN_PAYLOAD_BYTES <= len(payload) <= self._limit

    def only_frame(self, data: bytes) -> Data | None:
        """Return the payload if feeding ``data`` would yield exactly one whole frame. It need not be fed then.

        Returns None if it must be fed.
        """
        is_between = self._size is None and not self._kept
        if not is_between or not is_one_frame(data, MIN_PAYLOAD_BYTES, self._limit):
            return None
        return _payload(data, SIZE_BYTES, len(data))

    def feed(self, data: bytes) -> Iterator[Piece]:
        """Yield the frames that ``data`` completes. Raises NotAFrame for a size that no Kafka frame has."""
        at = 0
        while at < len(data):
            if self._size is not None:
                at = self._read_payload(data, at)
                if self._left == 0:
                    yield self._take()
            elif not self._kept and (end := self._whole_end(data, at)):
                yield Piece(end - at, _payload(data, at + SIZE_BYTES, end), whole=True)
                at = end
            else:
                at = self._read_size(data, at)

    def _whole_end(self, data: bytes, at: int) -> int:
        """Return the end of the frame at ``at`` if it is complete and is to be kept whole, else 0."""
        size = int.from_bytes(data[at : at + SIZE_BYTES], signed=True)
        end = at + SIZE_BYTES + size
        return end if MIN_PAYLOAD_BYTES <= size <= self._limit and end <= len(data) else 0

    def _read_size(self, data: bytes, at: int) -> int:
        end = at + SIZE_BYTES - len(self._kept)
        self._kept += data[at:end]
        if len(self._kept) == SIZE_BYTES:
            size = int.from_bytes(self._kept, signed=True)
            if not MIN_PAYLOAD_BYTES <= size <= MAX_PAYLOAD_BYTES:
                raise NotAFrame("frame-size", "a frame cannot be {size} bytes long", size=size)
            self._size = self._left = size
            self._kept.clear()
        return end

    def _read_payload(self, data: bytes, at: int) -> int:
        assert self._size is not None
        end = min(len(data), at + self._left)
        keep = self._size if self._size <= self._limit else HEAD_BYTES
        wanted = keep - len(self._kept)
        if wanted > 0:
            self._kept += memoryview(data)[at : min(end, at + wanted)]
        self._left -= end - at
        return end

    def _take(self) -> Piece:
        assert self._size is not None
        kept, self._kept = self._kept, bytearray()
        payload = bytes(kept) if len(kept) <= SMALL_BYTES else kept
        piece = Piece(SIZE_BYTES + self._size, payload, whole=len(kept) == self._size)
        self._size = None
        return piece


def _payload(data: bytes, begin: int, end: int) -> Data:
    return data[begin:end] if end - begin <= SMALL_BYTES else memoryview(data)[begin:end]
