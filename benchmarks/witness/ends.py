"""Both ends of a path, on blocking sockets with little overhead: a client that measures, and a broker that answers."""

from __future__ import annotations

import socket
import struct
import threading
import time
from multiprocessing.connection import Connection

from benchmarks.witness.frames import CORRELATION_AT, produced
from benchmarks.witness.lane import HOST

#: The number of frames of a bulk that are in transit at the same time.
UNDER_WAY = 8
#: The size of the start of a request frame, up to the end of its correlation id.
HEAD_BYTES = CORRELATION_AT + 4
MAX_REQUEST_BYTES = 128 << 10


class Client:
    """One connection of a client over one path."""

    def __init__(self, port: int) -> None:
        self._sock = socket.create_connection((HOST, port))
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answer = bytearray(len(produced()))
        self._number = 0

    def close(self) -> None:
        """Close the connection."""
        self._sock.close()

    def trips(self, frame: bytearray, count: int) -> list[int]:
        """Return the times of ``count`` consecutive round trips, in nanoseconds."""
        taken = []
        for _ in range(count):
            began_ns = time.perf_counter_ns()
            self._send(frame)
            self._read()
            taken.append(time.perf_counter_ns() - began_ns)
        return taken

    def bulk(self, frame: bytearray, count: int) -> float:
        """Return the throughput in bytes per second, with several frames in transit."""
        began_ns = time.perf_counter_ns()
        for index in range(count):
            if index >= UNDER_WAY:
                self._read()
            self._send(frame)
        for _ in range(UNDER_WAY):
            self._read()
        return len(frame) * count * 1e9 / (time.perf_counter_ns() - began_ns)

    def _send(self, frame: bytearray) -> None:
        # Every frame has another correlation id, so that no cache helps.
        self._number += 1
        struct.pack_into(">i", frame, CORRELATION_AT, self._number)
        self._sock.sendall(frame)

    def _read(self) -> None:
        if not _read_exactly(self._sock, self._answer, len(self._answer)):
            raise ConnectionError("the path has ended")


def serve_broker(pipe: Connection) -> None:
    """Answer every frame with a Produce response with its correlation id, until the pipe ends."""
    server = socket.create_server((HOST, 0))
    threading.Thread(target=_accept, args=(server,), daemon=True).start()
    pipe.send(server.getsockname()[1])
    try:
        pipe.recv()
    except EOFError:
        pass


def _accept(server: socket.socket) -> None:
    while True:
        sock, _ = server.accept()
        threading.Thread(target=_answer, args=(sock,), daemon=True).start()


def _answer(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    head, rest = produced()[:4], produced()[8:]
    held = bytearray(MAX_REQUEST_BYTES)
    with sock:
        while _read_exactly(sock, held, HEAD_BYTES):
            (size,) = struct.unpack_from(">i", held)
            correlation_id = bytes(held[CORRELATION_AT:HEAD_BYTES])
            if not _read_exactly(sock, held, size - CORRELATION_AT):
                return
            sock.sendall(head + correlation_id + rest)


def _read_exactly(sock: socket.socket, into: bytearray, count: int) -> bool:
    view = memoryview(into)[:count]
    while view:
        got = sock.recv_into(view)
        if not got:
            return False
        view = view[got:]
    return True
