"""Extract whole frames from one direction of a connection before they are passed on, for rules to act on.

Holding back may begin at any moment, even in the middle of a frame whose beginning has been passed on. The rest of that
frame passes, and the next frame is the first to be held back until it is complete. Bytes that are not a Kafka frame,
and frames that are too large to buffer, pass as they arrive. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.limits.frames import MAX_PAYLOAD_BYTES
from harness.wire.frames import SIZE_BYTES, is_one_frame
from harness.witness.splitter import MIN_PAYLOAD_BYTES


class FrameBuffer:
    """The buffer of one direction, for the beginning of an incomplete frame."""

    def __init__(self, whole_limit_bytes: int) -> None:
        self.is_shut = False
        self._limit = whole_limit_bytes
        self._held = bytearray()
        self._to_pass = 0
        self._is_opaque = False

    @property
    def held_bytes(self) -> int:
        """The number of bytes that were fed but not yet yielded."""
        return len(self._held)

    def shut(self, rest_bytes: int) -> None:
        """Hold frames back from now on. The next ``rest_bytes`` belong to a frame that has already begun to pass."""
        self.is_shut = True
        self._to_pass = rest_bytes

    def open(self) -> None:
        """Stop holding frames back, as soon as the buffer is empty."""
        self.is_shut = bool(self._held or self._to_pass)

    def give_up(self) -> bytes:
        """Stop holding frames back permanently, because the bytes are not frames. Return the buffered bytes."""
        self._is_opaque = True
        self.is_shut = False
        self._to_pass = 0
        return self.rest()

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bool]]:
        """Yield the pieces that can be passed on, in order: (bytes, True if they are one whole frame)."""
        if self._is_opaque:
            yield data, False
            return
        if self._to_pass:
            passing, data = data[: self._to_pass], data[self._to_pass :]
            self._to_pass -= len(passing)
            yield passing, False
        elif not self._held and is_one_frame(data, MIN_PAYLOAD_BYTES, self._limit):
            yield data, True
            return
        self._held += data
        while len(self._held) >= SIZE_BYTES:
            payload_bytes = int.from_bytes(self._held[:SIZE_BYTES], signed=True)
            whole_bytes = SIZE_BYTES + payload_bytes
            if not MIN_PAYLOAD_BYTES <= payload_bytes <= MAX_PAYLOAD_BYTES:
                self._is_opaque = True
                yield self.rest(), False
            elif payload_bytes > self._limit:
                self._to_pass = max(0, whole_bytes - len(self._held))
                yield self._take(whole_bytes), False
            elif len(self._held) >= whole_bytes:
                yield self._take(whole_bytes), True
            else:
                return

    def rest(self) -> bytes:
        """Return the buffered beginning of a frame that is not awaited any longer."""
        return self._take(len(self._held))

    def _take(self, count: int) -> bytes:
        taken = bytes(self._held[:count])
        del self._held[:count]
        return taken
