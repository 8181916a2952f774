"""Frames: on a Kafka connection, every message is preceded by its size as a big-endian int32.

TCP preserves the order of bytes but not message boundaries, so a reader must cope with any fragmentation. It buffers
incomplete frames and returns whole payloads only (NET-INF-10, Kafka's ``NetworkReceive``). An impossible size means
that the two sides no longer agree on where messages begin, so nothing after it can be trusted.
"""

from __future__ import annotations

from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from typing import Final

from harness.wire.errors import FrameError
from harness.wire.primitives import Data

SIZE_BYTES: Final = 4
#: The default of the broker's own limit, ``socket.request.max.bytes``.
MAX_FRAME_BYTES: Final = 100 * 1024 * 1024
#: The limit of a run's brokers (``socket.request.max.bytes``): twice the largest value that a load can have.
REQUEST_LIMIT_BYTES: Final = 32 * 1024 * 1024
#: From this size on, :meth:`FrameReader.take_frame` does not copy a payload.
LARGE_BYTES: Final = 64 * 1024


def frame(*payload: bytes) -> bytes:
    """Return the frame of a payload that is given in one or more pieces: its size, then the pieces."""
    size_bytes = sum(map(len, payload))
    return b"".join((size_bytes.to_bytes(SIZE_BYTES, "big"), *payload))


def is_one_frame(data: bytes, min_payload_bytes: int, max_payload_bytes: int) -> bool:
    """Return True if ``data`` is exactly one frame whose payload size is within the bounds.

    This is by far the most frequent case.
    """
    payload_bytes = len(data) - SIZE_BYTES
    return (
        min_payload_bytes <= payload_bytes <= max_payload_bytes
        and int.from_bytes(data[:SIZE_BYTES], "big", signed=True) == payload_bytes
    )


class FrameReader:
    """Splits one direction of a connection into payloads, whatever the TCP segmentation.

    Pass received bytes to :meth:`feed`, then call :meth:`next_frame` until it returns None. Only received bytes take
    memory, and not the size that a frame announces. :meth:`room` and :meth:`filled` save the copy of a large frame.
    """

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._buffer = bytearray()
        #: A large frame that is read into memory of its own. The system gives each page when it is written to.
        self._large: mmap | None = None
        self._filled_bytes = 0

    @property
    def pending_bytes(self) -> int:
        """The number of buffered bytes, size prefixes included. More than 0 at the end of a stream means a cut."""
        return len(self._buffer) if self._large is None else SIZE_BYTES + self._filled_bytes

    def only_frame(self, data: bytes) -> bytes | None:
        """Return the payload if the next bytes of the stream are exactly one frame, else None.

        If the result is None, the bytes are not consumed. Pass them to :meth:`feed`.
        """
        if self.pending_bytes or not is_one_frame(data, 0, self._max_frame_bytes):
            return None
        return data[SIZE_BYTES:]

    def feed(self, data: Data) -> None:
        """Append the next bytes of the stream to the buffer. They are copied."""
        if self._large is not None:
            taken = min(len(data), len(self._large) - self._filled_bytes)
            self._large[self._filled_bytes : self._filled_bytes + taken] = data[:taken]
            self._filled_bytes += taken
            data = data[taken:]
        self._buffer += data

    def room(self) -> memoryview | None:
        """Return memory for what is missing of a large frame, to read into instead of :meth:`feed`.

        None if the next frame is not large, or its size is not known yet. Call :meth:`filled` after each read.
        """
        if self._large is None:
            size = self.announced_bytes()
            if size is None or size < LARGE_BYTES or len(self._buffer) >= SIZE_BYTES + size:
                return None
            try:
                self._large = mmap(-1, size, flags=MAP_PRIVATE | MAP_ANONYMOUS)
            except OSError:
                return None  # the system has no addresses for it
            received, self._buffer = self._buffer, bytearray()
            self.feed(received[SIZE_BYTES:])
        return memoryview(self._large)[self._filled_bytes :] or None

    def filled(self, count_bytes: int) -> None:
        """Record that this many bytes of the stream were read into the beginning of :meth:`room`."""
        self._filled_bytes += count_bytes

    def announced_bytes(self) -> int | None:
        """Return the payload size of the next frame, or None if its size prefix is not complete yet.

        Raises :class:`FrameError` for a negative or oversize length, as :meth:`next_frame` does.
        """
        if self._large is not None:
            return len(self._large)
        if len(self._buffer) < SIZE_BYTES:
            return None
        size = int.from_bytes(self._buffer[:SIZE_BYTES], "big", signed=True)
        if size < 0:
            raise FrameError("frame-size-negative", "a frame claims a negative size, {size} bytes", size=size)
        if size > self._max_frame_bytes:
            raise FrameError(
                "frame-too-large",
                "a frame claims {size} bytes, more than the limit of {most}",
                size=size,
                most=self._max_frame_bytes,
            )
        return size

    def next_frame(self) -> bytes | None:
        """Return the next whole payload without its size (it may be empty), or None if it is not complete yet.

        Raises :class:`FrameError` for a negative or oversize length, at this call and at every later one.
        """
        if self._large is not None:
            whole = self.take_frame()
            return None if whole is None else bytes(whole)
        size = self.announced_bytes()
        if size is None:
            return None
        end = SIZE_BYTES + size
        if len(self._buffer) < end:
            return None
        # A view copies the payload only once. It has to be released before the buffer can shrink.
        with memoryview(self._buffer) as view:
            payload = bytes(view[SIZE_BYTES:end])
        del self._buffer[:end]
        return payload

    def take_frame(self) -> Data | None:
        """Do the same as :meth:`next_frame`, but return a large payload as a view of the memory that it was read into.

        The reader gives up this memory, which lives as long as the view or any part of it.
        """
        if self._large is not None:
            return self._take_large(self._large)
        size = self.announced_bytes()
        end = SIZE_BYTES + (size or 0)
        if size is None or len(self._buffer) < end:
            return None
        if size < LARGE_BYTES:
            return self.next_frame()
        whole, self._buffer = self._buffer, self._buffer[end:]
        return memoryview(whole).toreadonly()[SIZE_BYTES:end]

    def _take_large(self, large: mmap) -> memoryview | None:
        if self._filled_bytes < len(large):
            return None
        self._large, self._filled_bytes = None, 0
        return memoryview(large).toreadonly()
