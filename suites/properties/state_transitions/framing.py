"""The bytes of one connection: whole frames are read, in order, one per poll, in whatever pieces the bytes arrived."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import strategies as st

from clients.reference.network.channel import Channel
from clients.reference.ports import ChannelState, Polled
from clients.reference.producer.producer import Components
from suites.properties.property import client_property, example

NODE = 1
SIZE_BYTES = 4
FRAMES = st.lists(st.binary(max_size=40), min_size=1, max_size=6)
PLACES = st.lists(st.integers(0, 240), max_size=12)


def _stream(frames: list[bytes]) -> bytes:
    return b"".join(len(frame).to_bytes(SIZE_BYTES, "big") + frame for frame in frames)


def _pieces(data: bytes, places: list[int]) -> list[bytes]:
    cuts = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    return [data[begin:end] for begin, end in pairwise(cuts)]


def _open(components: Components) -> Channel:
    channel = components.channel(NODE)
    channel.established()
    told = Polled()
    channel.report(told)
    assert told.connected == [NODE] and not told.received
    return channel


def _poll(channel: Channel) -> tuple[list[bytes], ChannelState | None]:
    told = Polled()
    channel.report(told)
    assert len(told.received) <= 1, "more than one frame in one poll"
    ended = told.disconnected.get(NODE)
    return [bytes(frame) for _, frame in told.received], ended.state if ended else None


@client_property(
    "NET-INF-10", "NET-INF-09", frames=FRAMES, places=PLACES, polls=st.lists(st.booleans(), max_size=13)
)
@example(frames=[b"12345", b"678"], places=[2, 11], polls=[])
def fragments_make_whole_frames(
    components: Components, frames: list[bytes], places: list[int], polls: list[bool]
) -> None:
    """Frames that arrive in any pieces are read whole, in order, at most one per poll."""
    channel = _open(components)
    seen: list[bytes] = []
    for index, piece in enumerate(_pieces(_stream(frames), places)):
        channel.feed(piece)
        if index < len(polls) and polls[index]:
            seen += _poll(channel)[0]
    while channel.has_news:
        whole, ended = _poll(channel)
        assert ended is None, "whole frames end the connection"
        seen += whole
    assert seen == frames


@client_property("NET-INF-10", frames=FRAMES, places=PLACES, missing=st.integers(1, 43))
def a_torn_frame_is_an_end(
    components: Components, frames: list[bytes], places: list[int], missing: int
) -> None:
    """Whole frames before the end are reported first. A cut frame is never reported, only the end is."""
    stream = _stream(frames)
    last_bytes = SIZE_BYTES + len(frames[-1])
    torn = stream[: len(stream) - 1 - (missing - 1) % last_bytes]
    channel = _open(components)
    for piece in _pieces(torn, places):
        channel.feed(piece)
    channel.end("the broker closed the connection")
    seen: list[bytes] = []
    ended = None
    while ended is None:
        assert channel.has_news, "the end of the connection is never told"
        whole, ended = _poll(channel)
        seen += whole
    assert seen == frames[:-1] and ended is ChannelState.READY


@client_property(
    "NET-INF-10",
    frames=st.lists(st.binary(max_size=40), max_size=3),
    size=st.integers(-(2**31), -1),
)
def an_impossible_size_ends_the_connection(components: Components, frames: list[bytes], size: int) -> None:
    """A negative size is reported as an invalid receive, after earlier frames, and ends the reading."""
    channel = _open(components)
    channel.feed(_stream(frames) + size.to_bytes(SIZE_BYTES, "big", signed=True) + b"x" * 8)
    assert not channel.wants_to_read
    seen: list[bytes] = []
    ended = None
    while ended is None:
        assert channel.has_news, "the end of the connection is never told"
        whole, ended = _poll(channel)
        seen += whole
    assert seen == frames and ended is ChannelState.INVALID_RECEIVE
