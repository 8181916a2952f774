"""Track the size of the request that a client is sending, before its bytes are passed on.

A broker reserves memory for a whole request as soon as it has read its size. The sizes are therefore read before the
bytes are passed on, and everything else is read afterwards. A broker ends the connection at an invalid size, so nothing
after it counts.
"""

from __future__ import annotations

from harness.wire.frames import REQUEST_LIMIT_BYTES, SIZE_BYTES

#: A request contains at least its API key, version and correlation id.
MIN_REQUEST_BYTES = 8


class Begun:
    """The frames of one direction, by their sizes only."""

    def __init__(self) -> None:
        #: The broker's reservation for the current frame: 0 between frames, and after a frame of a size that brokers
        #: reject.
        self.reserved_bytes = 0
        self._left = 0
        self._size = b""
        self._is_over = False

    def feed(self, data: bytes) -> None:
        """Process the next bytes."""
        at = 0
        while at < len(data) and not self._is_over:
            if self._left:
                step = min(self._left, len(data) - at)
                self._left -= step
                at += step
                if not self._left:
                    self.reserved_bytes = 0
                continue
            piece = data[at : at + SIZE_BYTES - len(self._size)]
            self._size += piece
            at += len(piece)
            if len(self._size) == SIZE_BYTES:
                self._begin(int.from_bytes(self._size, signed=True))

    def _begin(self, size_bytes: int) -> None:
        self._size = b""
        if MIN_REQUEST_BYTES <= size_bytes <= REQUEST_LIMIT_BYTES:
            self.reserved_bytes = self._left = size_bytes
        else:
            self._is_over = True
