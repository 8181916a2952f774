"""The topics in the metadata of a member of a consumer group (``ConsumerProtocolSubscription``)."""

from __future__ import annotations

import struct


def subscribed_topics(metadata: bytes) -> list[str] | None:
    """Return the topics that a member subscribes to, or None if the bytes are not a subscription."""
    try:
        _, count = struct.unpack_from(">hi", metadata)
        at, topics = 6, []
        for _ in range(count):
            (size,) = struct.unpack_from(">h", metadata, at)
            if size < 0 or at + 2 + size > len(metadata):
                return None
            topics.append(metadata[at + 2 : at + 2 + size].decode())
            at += 2 + size
    except (struct.error, UnicodeDecodeError):
        return None
    return topics
