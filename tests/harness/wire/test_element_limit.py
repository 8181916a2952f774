"""The number of elements in a message is limited, so that empty elements cannot keep the reader busy."""

from __future__ import annotations

from harness.wire.apis import Api
from harness.wire.errors import WireError
from harness.wire.messages import decode_response
from harness.wire.readers import MAX_ELEMENTS
from testkit.codes import raises_code


def metadata(topics: int) -> bytes:
    """Return an answer to Metadata 1: no broker, no controller, and ``topics`` empty topics."""
    topic = b"\0\3" + b"\0\0" + b"\0" + b"\0\0\0\0"
    return bytes(4) + bytes(4) + bytes(4) + topics.to_bytes(4, "big") + topic * topics


def test_a_message_with_too_many_elements_is_refused():
    _, read = decode_response(metadata(MAX_ELEMENTS), Api.METADATA, 1)
    assert len(read.topics) == MAX_ELEMENTS

    with raises_code(WireError, "too-many-elements", most=100000):
        decode_response(metadata(MAX_ELEMENTS + 1), Api.METADATA, 1)
