"""Channel: framing and buffering, the same for sockets and for simulated connections."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.network.channel import AuthenticationFailedError, Channel
from clients.reference.ports import ChannelState, Polled
from harness.wire.frames import frame


class Authenticator:
    """An authenticator that expects ``answers``, one after the other."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def start(self):
        return frame(b"ask 0")

    def answer(self, payload):
        due = self.answers.pop(0)
        if payload != due:
            raise AuthenticationFailedError(
                "made-up", "{payload!r} instead of {due!r}", payload=payload, due=due
            )
        return frame(b"ask more") if self.answers else None


def reports(channel):
    """Return the reports of each poll of a channel."""
    told = []
    while channel.has_news:
        polled = Polled()
        channel.report(polled)
        told.append(polled)
        if polled.disconnected:
            break
    return told


def established(node_id=7, authenticator=None):
    channel = Channel(node_id, authenticator)
    channel.established()
    return channel


@given(st.lists(st.binary(max_size=40), max_size=8), st.data())
def test_fragmentation_does_not_change_frames_and_end_comes_last(payloads, data):
    """NET-INF-09, -10."""
    stream = b"".join(map(frame, payloads)) + b"\x00\x00\x00\x05cut"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    channel = established()
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        channel.feed(stream[start:end])
    channel.end("closed")
    told = reports(channel)
    assert [polled.connected for polled in told] == [[7], *([[]] * (len(told) - 1))]
    assert all(len(polled.received) <= 1 for polled in told)
    assert [payload for polled in told for _, payload in polled.received] == payloads
    assert [bool(polled.disconnected) for polled in told] == [False] * (len(told) - 1) + [True]
    assert told[-1].disconnected[7].state is ChannelState.READY


@pytest.mark.parametrize("size", [b"\xff\xff\xff\xff", b"\x80\x00\x00\x00"])
def test_invalid_size_ends_the_channel(size):
    """NET-INF-10: complete frames before it are returned first."""
    channel = established()
    channel.feed(frame(b"good") + size + b"xxxx")
    told = reports(channel)
    assert [payload for polled in told for _, payload in polled.received] == [b"good"]
    assert told[-1].disconnected[7].state is ChannelState.INVALID_RECEIVE
    assert not channel.wants_to_read


def test_frames_are_sent_one_at_a_time():
    """NET-INF-03."""
    channel = established()
    reports(channel)
    channel.send(frame(b"abc"))
    with pytest.raises(ValueError):
        channel.send(frame(b"next"))
    channel.wrote(6)
    assert not channel.has_news
    channel.wrote(1)
    assert [polled.completed_sends for polled in reports(channel)] == [[7]]
    channel.send(frame(b"next"))


def test_authentication_precedes_connected():
    """NET-CON-01: it reports nothing during authentication, neither frames nor sends."""
    channel = established(authenticator=Authenticator(b"yes", b"indeed"))
    assert channel.state is ChannelState.AUTHENTICATE
    for answer in (b"yes", b"indeed"):
        channel.wrote(len(channel.outgoing))
        assert not channel.has_news
        channel.feed(frame(answer))
    channel.feed(frame(b"mine"))
    first, second = reports(channel)
    assert (first.connected, first.completed_sends, first.received) == ([7], [], [])
    assert second.received == [(7, b"mine")]


@pytest.mark.parametrize(
    ("happens", "state"),
    [
        (lambda channel: channel.feed(frame(b"no")), ChannelState.AUTHENTICATION_FAILED),
        (lambda channel: channel.end("closed"), ChannelState.AUTHENTICATE),
        (lambda channel: channel.feed(b"\xff\xff\xff\xff"), ChannelState.INVALID_RECEIVE),
    ],
)
def test_how_authentication_can_fail(happens, state):
    """NET-CON-11: a rejection differs from a connection that merely ended."""
    channel = established(authenticator=Authenticator(b"yes"))
    happens(channel)
    (told,) = reports(channel)
    assert not told.connected
    assert told.disconnected[7].state is state


def test_failed_connection_attempt_has_its_own_end():
    channel = Channel(7)
    channel.end("refused")
    assert reports(channel)[0].disconnected[7].state is ChannelState.NOT_CONNECTED
