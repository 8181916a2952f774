"""What a client has begun to send on a connection: the size of the request under way, known before its bytes pass.

A broker reserves memory for a whole request as soon as it has read its size. So sizes are looked at before they are
passed on; everything else is read afterwards. A broker ends the connection at a size that no request has, so nothing
behind it counts.
"""

from __future__ import annotations

from harness.wire.frames import REQUEST_LIMIT_BYTES, SIZE_BYTES

#: A request is at least its api key, version and correlation id.
MIN_REQUEST_BYTES = 8


class Begun:
    """The frames of one direction, by their sizes alone."""

    def __init__(self) -> None:
        #: What is reserved for the frame under way: 0 between frames, and after one that a broker refuses by its size.
        self.reserved_bytes = 0
        self._left = 0
        self._size = b""
        self._is_over = False

    def feed(self, data: bytes) -> None:
        """Look at what comes next."""
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
