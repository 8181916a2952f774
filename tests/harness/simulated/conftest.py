"""A simulated network with one node that records its requests and echoes them."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from harness.simulated.connection import SimulatedConnection
from harness.simulated.network import Network
from harness.simulated.scheduler import NS_PER_MS, Scheduler
from harness.wire.frames import frame

ADDRESS = ("b1", 9092)


@dataclass
class Said:
    frame: bytes | None
    at_ns: int
    close: bool = False
    again: bool = False
    waiting: None = None


@dataclass
class Echo:
    """Answers each request with its own payload after ``takes_ns``; ``got`` has the requests and their times."""

    is_up: bool = True
    takes_ns: int = 0
    got: list[tuple[int, bytes]] = field(default_factory=list)

    def accepts(self, node_id: int) -> bool:
        return self.is_up

    def handle(self, node_id: int, conn: int, payload: bytes, now_ns: int) -> Said:
        self.got.append((now_ns, payload))
        return Said(frame(payload), now_ns + self.takes_ns, close=payload.endswith(b"bye"))


class Line:
    """A network with one broker, and connections of one client to it."""

    def __init__(self) -> None:
        self.scheduler = Scheduler(1_000 * NS_PER_MS)
        self.broker = Echo()
        self.network = Network(self.scheduler, self.broker, {1: ADDRESS})
        [self.proxy] = self.network.proxies

    @property
    def now_ms(self) -> float:
        return self.scheduler.now_ns / NS_PER_MS - 1_000

    def run(self, ms: float) -> None:
        self.scheduler.run(self.scheduler.now_ns + round(ms * NS_PER_MS))

    def connected(self) -> SimulatedConnection:
        connection = self.network.connect(ADDRESS)
        self.run(1)
        assert connection.is_connected
        return connection

    @property
    def received(self) -> list[bytes]:
        return [payload for _, payload in self.broker.got]


@pytest.fixture
def line() -> Line:
    return Line()


def request(text: bytes, correlation_id: int = 7) -> bytes:
    """Return a frame with a request header (ApiVersions, version 0, no client id) and ``text``."""
    return frame(b"\x00\x12\x00\x00" + correlation_id.to_bytes(4, "big") + b"\xff\xff" + text)


def payload(text: bytes, correlation_id: int = 7) -> bytes:
    return request(text, correlation_id)[4:]


def read(connection: SimulatedConnection) -> bytes:
    """Return and remove what the client would read now."""
    data = b"".join(connection.incoming)
    connection.incoming.clear()
    return data
