"""The exceptions that the readers raise for invalid bytes. They raise no others."""

from __future__ import annotations

from typing import Self

from harness.text.sentences import Coded


class WireError(Coded, ValueError):
    """The bytes are not valid Kafka protocol, or a value cannot be encoded. The message is one sentence."""

    #: The number of elements of arrays that were decoded before the error.
    elements = 0

    def after(self, elements: int) -> Self:
        """Return the same error, which now says that this many more elements were decoded before it."""
        self.elements += elements
        return self


class FrameError(WireError):
    """A frame's size prefix is negative or above the limit. The stream cannot be read on: close it (NET-INF-10)."""


class TooLarge(WireError):
    """The data decompresses to more bytes than the reader allows."""
