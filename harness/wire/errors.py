"""What the readers raise, and the only thing they raise, when bytes are not what they should be."""

from __future__ import annotations


class WireError(ValueError):
    """Bytes that are not the Kafka protocol, or a value that has no place in it: one sentence."""


class FrameError(WireError):
    """A frame's size prefix is negative or beyond the limit: the stream is lost, close it (NET-INF-10)."""


class TooLarge(WireError):
    """Data decompresses to more than whoever reads it allows."""
