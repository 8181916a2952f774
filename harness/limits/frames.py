"""The limits for one frame and for what is kept of it: one table, beside that of a whole trial.

A frame beyond such a limit is not read, or only in part, and its row says so. The trial continues: what all frames take
together is limited by :mod:`harness.limits.meter`. The limits of the codec are defined with it (:mod:`harness.wire`).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from harness.wire.frames import REQUEST_LIMIT_BYTES
from harness.wire.readers import MAX_ELEMENTS, MAX_TAGGED_ELEMENTS
from harness.wire.records import MAX_DECOMPRESSED_BYTES

#: A client's ``fetch.max.bytes`` may exceed the broker's ``socket.request.max.bytes``. Bytes that claim a larger frame
#: than this are not Kafka: an HTTP request or a TLS handshake claims more than 300 MB.
MAX_PAYLOAD_BYTES: Final = 256 * 2**20
#: The size up to which a frame is read as a whole.
WHOLE_LIMIT_BYTES: Final = 16 * 2**20
#: The limits of a row, so that evidence stays small whatever a client sends.
MAX_PARTS, MAX_TEXT = 4_096, 256
#: Far more than the topics of a lane.
MAX_TOPIC_NAMES: Final = 2**12
MAX_WAITING: Final = 2**16


class FrameLimit(NamedTuple):
    """A limit of ``most``, which ``what`` completes, and what happens ``beyond`` it."""

    name: str
    most: int
    what: str
    beyond: str


FRAME_LIMITS: Final = (
    FrameLimit("request", REQUEST_LIMIT_BYTES, "bytes in a request", "the broker ends the connection"),
    FrameLimit("payload", MAX_PAYLOAD_BYTES, "bytes in a frame", "nothing more is read on its connection"),
    FrameLimit("whole", WHOLE_LIMIT_BYTES, "bytes in a frame whose body is read", "only the header is read"),
    FrameLimit(
        "frame-elements", MAX_ELEMENTS, "elements in all arrays of a frame", "only the header is read"
    ),
    FrameLimit(
        "tagged", MAX_TAGGED_ELEMENTS, "elements in the arrays of a tagged field", "only the header is read"
    ),
    FrameLimit(
        "parts", MAX_PARTS, "parts of a kind in the row of a consumer's frame", "the rest is left out"
    ),
    FrameLimit("names", MAX_TEXT, "characters in a name in such a row", "the rest is left out"),
    FrameLimit(
        "topic-names", MAX_TOPIC_NAMES, "topics of a lane whose ids have names", "the oldest is forgotten"
    ),
    FrameLimit(
        "waiting", MAX_WAITING, "requests of a connection that wait", "the oldest one's response is not read"
    ),
    FrameLimit(
        "batch",
        MAX_DECOMPRESSED_BYTES,
        "bytes in a batch, decompressed, unless stored-bytes leaves less",
        "the batch is not read",
    ),
)
