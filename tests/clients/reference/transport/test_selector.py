"""The Selector port on real sockets: lookups, refused connections, late responses, memory."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clients.reference.network.memory_pool import SimpleMemoryPool
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


def test_lookup_never_blocks(selector):
    """NET-CON-09: its end wakes ``wait``. A result is used once, so the next attempt looks the name up again."""
    for _ in range(2):
        for host, expected in (("localhost", {("127.0.0.1", 1)}), ("no-such-host.invalid", set())):
            found = selector.resolve(host, 1)
            assert found is None
            while found is None:
                selector.wait(WAIT_S)
                found = selector.resolve(host, 1)
            assert expected <= set(found)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_address_needs_no_lookup(selector, address):
    assert selector.resolve(address, 1) == ((address, 1),)


def test_sockets_are_kept_alive(selector):
    """SO_KEEPALIVE, as in Java."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        selector.connect(7, ("127.0.0.1", listener.getsockname()[1]))
        [connection] = selector._connections.values()
        assert connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert connection.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


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


def test_socket_is_not_read_without_memory():
    """The broker waits until the frames that hold the memory were processed. The one that waits longest is next."""
    pool = SimpleMemoryPool(10)
    selector, peers = SocketSelector(pool=pool), []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        for node_id in (1, 2, 3):
            selector.connect(node_id, ("127.0.0.1", listener.getsockname()[1]))
            peers.append(listener.accept()[0])
            polled_until(selector, lambda polled, node_id=node_id: node_id in polled.connected)
        received = []
        for peer in peers:
            peer.sendall(frame(b"8 bytes!"))
        for number in range(len(peers)):
            received += polled_until(selector, lambda polled: polled.received).received
            assert len(received) == number + 1 and pool.available_bytes == 2
        selector.close(3)
        selector.poll()
        assert pool.available_bytes == 10
        peers[0].sendall(frame(b"8 bytes!") + frame(b"more"))
        polled_until(selector, lambda polled: polled.received)
        selector.close(1)
        selector.poll()
        assert pool.available_bytes == 10
    assert sorted(received) == [(node_id, b"8 bytes!") for node_id in (1, 2, 3)]
    selector.close_all()
    for peer in peers:
        peer.close()


@pytest.fixture
def connected(selector):
    """The other end of a connection of node 7."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        selector.connect(7, ("127.0.0.1", listener.getsockname()[1]))
        peer, _ = listener.accept()
    polled_until(selector, lambda polled: polled.connected)
    with peer:
        yield peer


def test_a_wait_for_news_reads_the_pieces_of_a_frame(selector, connected):
    """It ends once, with the whole frame."""
    payload = bytes(range(256)) * 20_000
    sending = threading.Thread(target=connected.sendall, args=(frame(payload),))
    sending.start()
    selector.wait_for_news(WAIT_S)
    sending.join()
    [(node_id, received)] = selector.poll().received
    assert (node_id, received) == (7, payload)


def test_a_wait_for_news_of_half_a_frame_ends_in_time(selector, connected):
    connected.sendall(frame(b"a frame")[:-1])
    selector.wait_for_news(0.05)
    assert not selector.poll().received
    connected.sendall(b"e")
    selector.wait_for_news(WAIT_S)
    assert selector.poll().received == [(7, b"a frame")]


def test_a_wait_for_news_ends_with_the_connection(selector, connected):
    connected.sendall(frame(b"a frame")[:-1])
    connected.close()
    selector.wait_for_news(WAIT_S)
    assert selector.poll().disconnected[7].state is ChannelState.READY


def test_a_wakeup_ends_a_wait_for_news(selector, connected):
    selector.wakeup()
    selector.wait_for_news(WAIT_S)
    assert selector.poll().received == []
