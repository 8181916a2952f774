"""The scripted brokers on sockets: one node on a free port of 127.0.0.1, in real time."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from clients.reference import KafkaProducer
from clients.reference.telemetry.trace import Trace, no_trace
from harness.brokers.scripted.cluster import ScriptedCluster
from harness.model.dice import Dice
from harness.wire.frames import FrameReader

HOST = "127.0.0.1"
WAIT_S = 20


class SocketBroker:
    """A broker on a socket. ``deliver`` writes its responses, and ``held`` is set once a request gets none."""

    def __init__(self, brokers: Any) -> None:
        self.listener = socket.create_server((HOST, 0))
        self.port = self.listener.getsockname()[1]
        self.cluster = ScriptedCluster("4.3.1", {1: (HOST, self.port)}, Dice(0, "sockets"), wall_ms_at_zero=0)
        self.cluster.create_topic("t", 3)
        self.brokers = brokers(self.cluster)
        self.deliver: Callable[[socket.socket, bytes], None] = lambda sock, data: sock.sendall(data)
        self.held = threading.Event()
        self._lock = threading.Lock()
        self._connections = count(1)
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []
        self._start(self._accept)

    def _start(self, target: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=target, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            self._sockets.append(sock)
            self._start(self._serve, sock, next(self._connections))

    def _serve(self, sock: socket.socket, conn: int) -> None:
        reader = FrameReader()
        try:
            while data := sock.recv(65_536):
                reader.feed(data)
                while (payload := reader.next_frame()) is not None:
                    with self._lock:
                        answer = self.brokers.handle(1, conn, payload, time.time_ns())
                    if answer.frame is not None:
                        self.deliver(sock, answer.frame)
                    elif not answer.close:
                        self.held.set()
                    if answer.close:
                        return
        except OSError:
            pass
        finally:
            sock.close()

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for sock in self._sockets:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        for thread in self._threads:
            thread.join(WAIT_S)


@pytest.fixture
def broker(brokers: Any) -> Iterator[SocketBroker]:
    """Return one broker with topic "t" of three partitions."""
    served = SocketBroker(brokers)
    yield served
    served.close()


@pytest.fixture
def producer(broker: SocketBroker) -> Callable[..., KafkaProducer]:
    """Return a function that makes a producer of ``broker``. Settings have Java's names, with underscores."""

    def make(trace: Trace = no_trace, **settings: Any) -> KafkaProducer:
        named = {name.replace("_", "."): value for name, value in settings.items()}
        return KafkaProducer({"bootstrap.servers": f"{HOST}:{broker.port}", **named}, trace=trace, seed=1)

    return make
