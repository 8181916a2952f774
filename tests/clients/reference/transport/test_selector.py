"""The Selector port on real sockets: resolving, refused connections, late responses, muting."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clients.reference.ports import ChannelState
from clients.reference.transport.selector import SocketSelector
from harness.wire.frames import frame

WAIT_S = 20


@pytest.fixture
def selector() -> Iterator[SocketSelector]:
    made = SocketSelector()
    yield made
    made.close_all()


def polled_until(selector: SocketSelector, reached: Callable[[Any], bool]) -> Any:
    """Poll until ``reached`` holds for the result, and return that result."""
    while True:
        selector.wait(WAIT_S)
        polled = selector.poll()
        if reached(polled):
            return polled


def test_name_resolves_to_its_addresses_and_unknown_name_to_none(selector):
    """NET-CON-09."""
    assert ("127.0.0.1", 9092) in selector.resolve("localhost", 9092)
    assert selector.resolve("127.0.0.1", 1) == (("127.0.0.1", 1),)
    assert selector.resolve("no-such-host.invalid", 1) == ()


def test_refused_connection_was_never_connected(selector):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    selector.connect(7, ("127.0.0.1", port))
    ended = polled_until(selector, lambda polled: polled.disconnected)
    assert ended.disconnected[7].state is ChannelState.NOT_CONNECTED


def test_response_before_a_broken_pipe_is_delivered(selector):
    """NET-INF-09: the end is reported as that of a failed send, or of a lost connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        selector.connect(7, ("127.0.0.1", listener.getsockname()[1]))
        peer, _ = listener.accept()
        polled_until(selector, lambda polled: polled.connected)
        peer.sendall(frame(b"last"))
        peer.shutdown(socket.SHUT_WR)
    received, disconnected = [], {}
    while not disconnected:
        selector.wait(WAIT_S)
        polled = selector.poll()
        received += polled.received
        disconnected = polled.disconnected
    assert received == [(7, b"last")]
    assert disconnected[7].state is ChannelState.READY
    peer.close()


def test_muted_socket_is_not_read(selector):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        selector.connect(7, ("127.0.0.1", listener.getsockname()[1]))
        peer, _ = listener.accept()
        polled_until(selector, lambda polled: polled.connected)
        selector.mute(7)
        peer.sendall(frame(b"later"))
        selector.wait(0)
        assert selector.poll().received == []
        selector.unmute(7)
        assert polled_until(selector, lambda polled: polled.received).received == [(7, b"later")]
        peer.close()
