"""The capturing socket: every packet of its ports once, none of others, and lost packets are counted."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from harness.capture.connections import follow
from harness.capture.packets import segment
from harness.capture.tap import Tap

pytestmark = pytest.mark.usefixtures("may_capture")


@contextmanager
def spoken(payload: bytes, times: int) -> Iterator[int]:
    """Yield a server's port; ``payload`` is sent to it ``times`` times and read."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]
        with socket.create_connection(server.getsockname()) as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            there, _ = server.accept()
            with there:
                for _ in range(times):
                    client.sendall(payload)
                    left = len(payload)
                    while left:
                        left -= len(there.recv(left))


def captured(tap: Tap) -> list[bytes]:
    found = []
    while (packet := tap.read()) is not None:
        found.append(packet.data)
    tap.count()
    return found


def test_each_packet_is_captured_once_and_complete():
    payload = b"\0\0\0\x08" + b"\0\1\0\1\0\0\0\7"
    with spoken(payload, 2_000) as port:
        tap = Tap([port])
    with closing(tap):
        read = [segment(0, data) for data in captured(tap)]
        assert (tap.seen, tap.dropped) == (len(read), 0)
    assert sum(bool(one.payload) for one in read) == 2_000
    [one] = follow(read, {port: 1})
    assert [frame.data for frame in one.requests] == [payload] * 2_000
    assert {fact.what.value for fact in one.facts} == {"syn", "fin"}


def test_the_largest_loopback_packets_are_not_truncated():
    frame = (2**20 - 4).to_bytes(4) + bytes(2**20 - 4)
    with spoken(frame, 8) as port:
        tap = Tap([port])
    with closing(tap):
        read = [segment(0, data) for data in captured(tap)]
        assert tap.dropped == 0
    [one] = follow(read, {port: 1})
    assert [len(request.data) for request in one.requests] == [2**20] * 8
    assert max(len(part.payload) for part in read) > 60_000


def test_packets_of_other_ports_are_not_captured():
    with spoken(b"secret", 1) as port:
        tap = Tap([port + 1])
    with closing(tap):
        assert captured(tap) == []


def test_packets_that_do_not_fit_the_buffer_are_counted():
    with spoken(b"x" * 1_000, 500) as port:
        tap = Tap([port], buffer_bytes=20_000)
    with closing(tap):
        read = captured(tap)
    assert tap.dropped > 0
    assert tap.seen == len(read) + tap.dropped
