"""Memory for responses that are being received (MemoryPool and SimpleMemoryPool in Java).

A connection reserves the announced size of a frame before it reads the frame. Without memory it stops reading, so that
the broker has to wait, until a frame of any connection was processed. Clients have no limit unless the application sets
one, as in Java.
"""

from __future__ import annotations

from typing import Protocol


class MemoryPool(Protocol):
    """An account of memory, for one thread."""

    def try_reserve(self, size_bytes: int) -> bool:
        """Reserve memory for one frame. Return False if there is none. Raise ValueError if there never will be."""

    def release(self, size_bytes: int) -> None:
        """Return reserved memory."""


class SimpleMemoryPool:
    """At most ``size_bytes`` in all, and ``largest_bytes`` for one frame.

    If ``strict``, the total is never exceeded. Otherwise a frame may be larger than what is left of it, as long as
    something is left, so that small amounts never remain unused.
    """

    def __init__(self, size_bytes: int, largest_bytes: int | None = None, *, strict: bool = True) -> None:
        largest = size_bytes if largest_bytes is None else largest_bytes
        if not 0 < largest <= size_bytes:
            raise ValueError("the largest frame must take from 1 byte to the size of the pool")
        self.size_bytes = size_bytes
        self.available_bytes = size_bytes
        self._largest_bytes = largest
        self._strict = strict

    def try_reserve(self, size_bytes: int) -> bool:
        """See MemoryPool."""
        if size_bytes > self._largest_bytes:
            raise ValueError(f"a frame of {size_bytes} bytes, the memory pool allows {self._largest_bytes}")
        if self.available_bytes < (size_bytes if self._strict else 1):
            return False
        self.available_bytes -= size_bytes
        return True

    def release(self, size_bytes: int) -> None:
        """See MemoryPool. Raise ValueError if more is returned than was reserved."""
        if self.available_bytes + size_bytes > self.size_bytes:
            raise ValueError("more memory is returned than was reserved")
        self.available_bytes += size_bytes
