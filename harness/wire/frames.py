"""Frames: on a Kafka connection every message goes behind its size, a big-endian int32.

TCP keeps the order of bytes and nothing else, so a reader must take any fragmentation: it holds back what is
incomplete and gives out whole payloads only (NET-INF-10, Kafka's ``NetworkReceive``). A size that cannot be
true means that the two sides no longer agree on where messages begin; nothing after it can be trusted.
"""

from __future__ import annotations

from typing import Final

from harness.wire.errors import FrameError

SIZE_BYTES: Final = 4
#: The broker's own default limit, ``socket.request.max.bytes``.
MAX_FRAME_BYTES: Final = 100 * 1024 * 1024
#: What the brokers of a run take (``socket.request.max.bytes``): twice the largest value that a load can have.
REQUEST_LIMIT_BYTES: Final = 32 * 1024 * 1024


def frame(*payload: bytes) -> bytes:
    """``payload``, in one or several pieces, behind its size, ready to be sent."""
    size_bytes = sum(map(len, payload))
    return b"".join((size_bytes.to_bytes(SIZE_BYTES, "big"), *payload))


def is_one_frame(data: bytes, min_payload_bytes: int, max_payload_bytes: int) -> bool:
    """True if ``data`` is exactly one frame, of a payload within the bounds: by far the most frequent case."""
    payload_bytes = len(data) - SIZE_BYTES
    return (
        min_payload_bytes <= payload_bytes <= max_payload_bytes
        and int.from_bytes(data[:SIZE_BYTES], "big", signed=True) == payload_bytes
    )


class FrameReader:
    """Splits one direction of a connection into payloads, however TCP cuts it.

    Feed it what arrives, then call :meth:`next_frame` until it gives None.
    """

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._buffer = bytearray()

    @property
    def pending_bytes(self) -> int:
        """Bytes fed and not yet given out, size prefixes included; at the end of a stream more than 0 is a cut."""
        return len(self._buffer)

    def only_frame(self, data: bytes) -> bytes | None:
        """The payload if the next bytes of the stream are exactly one frame.

        None for any others: then they are not taken, and are to be fed.
        """
        if self._buffer or not is_one_frame(data, 0, self._max_frame_bytes):
            return None
        return data[SIZE_BYTES:]

    def feed(self, data: bytes) -> None:
        """Takes the next bytes of the stream."""
        self._buffer += data

    def next_frame(self) -> bytes | None:
        """The next whole payload without its size (it may be empty), or None if it is not complete yet.

        Raises :class:`FrameError` for a negative or an oversize length, and again at every later call.
        """
        if len(self._buffer) < SIZE_BYTES:
            return None
        size = int.from_bytes(self._buffer[:SIZE_BYTES], "big", signed=True)
        if size < 0:
            raise FrameError(f"a frame claims a negative size, {size} bytes")
        if size > self._max_frame_bytes:
            raise FrameError(f"a frame claims {size} bytes, more than the limit of {self._max_frame_bytes}")
        end = SIZE_BYTES + size
        if len(self._buffer) < end:
            return None
        # Through a view, so that the payload is copied once; released before the buffer shrinks.
        with memoryview(self._buffer) as view:
            payload = bytes(view[SIZE_BYTES:end])
        del self._buffer[:end]
        return payload
