"""A capture is read completely, or refused with one error message."""

from __future__ import annotations

from io import BytesIO

import msgspec
import pytest
from hypothesis import given

from harness.capture.connections import connections, facts
from harness.capture.pcapng import NoCapture, Writer, parsed
from harness.capture.tap import Packet
from tests.attacks.formats.edits import BYTE_EDITS, bytewise, many
from tests.harness.capture.conftest import AHEAD_NS, BROKER, PROXY, Talk, request, response


@pytest.fixture(scope="module")
def capture() -> bytes:
    """Return a capture of one request in two segments, one of which is retransmitted, and its response."""
    talk = Talk().open()
    asked = request(1, b"body" * 3)
    talk.ask(asked[:9])
    talk.ask(asked[9:])
    talk.answer(response(1, b"answer"))
    talk.close()
    file = BytesIO()
    writer = Writer(file, {PROXY: BROKER}, AHEAD_NS, AHEAD_NS)
    for at, data in enumerate(talk.packets):
        writer.packet(Packet(AHEAD_NS + 1_000 * at, data, len(data)))
    writer.end(AHEAD_NS + 10**9, AHEAD_NS, len(talk.packets), 0)
    return file.getvalue()


#: Parts of the blocks that are read: the description, the comment, the size of an option, a packet, a number.
FOUND = (
    b"brokers by port",
    b"ahead_ns=",
    b"\x03\x00",
    b"\x04\x00\x08\x00",
    b"\x06\x00\x00\x00",
    b"1700000000",
)


@pytest.mark.parametrize("found", FOUND)
@pytest.mark.parametrize("new", [b"", b"\xff\xff", b"9" * 5_000])
def test_capture_with_replaced_part_is_read_or_refused(capture, survives, found, new):
    for at in (capture.find(found), capture.rfind(found)):
        assert at >= 0
        same_size = (new + bytes(len(found)))[: len(found)]
        for replacement in (same_size, new):
            edited = capture[:at] + replacement + capture[at + len(found) :]
            survives(lambda edited=edited: connections(parsed(edited, "capture.pcapng")), NoCapture)


@many
@given(BYTE_EDITS)
def test_edited_capture_is_read_or_refused(capture, survives, edits):
    def read_facts() -> bytes:
        followed = connections(parsed(bytewise(capture, edits), "capture.pcapng"))
        return msgspec.json.encode(facts(followed))

    survives(read_facts, NoCapture)


def test_unedited_capture_is_read(capture):
    [one] = connections(parsed(capture, "capture.pcapng"))
    assert [frame.correlation_id for frame in (*one.requests, *one.responses)] == [1, 1]
