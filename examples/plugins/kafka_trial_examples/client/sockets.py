"""A connection over a socket that never blocks, as :class:`kafka_trial_examples.client.asking.Link` has it."""

from __future__ import annotations

import select
import socket

from kafka_trial.api import Address

CHUNK_BYTES = 65_536


class SocketLink:
    """The connection. :meth:`wait` lets time pass until something happens on it or on another descriptor."""

    def __init__(self, address: Address) -> None:
        self.is_connected = self.fin = False
        self.incoming: list[bytes] = []
        self.error: str | None = None
        self._outgoing = b""
        self._socket = socket.socket()
        self._socket.setblocking(False)
        self._socket.connect_ex(address)

    @property
    def is_open(self) -> bool:
        """Whether anything can still happen on it."""
        return self._socket.fileno() >= 0 and self.error is None and not self.fin

    def send(self, data: bytes) -> None:
        """Send as soon as possible."""
        self._outgoing += data
        self._write()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _write(self) -> None:
        try:
            self._outgoing = self._outgoing[self._socket.send(self._outgoing) :]
        except BlockingIOError:
            return
        except OSError as error:
            self.error = str(error)

    def _read(self) -> None:
        try:
            data = self._socket.recv(CHUNK_BYTES)
        except OSError as error:
            self.error = str(error)
            return
        self.incoming += [data] if data else []
        self.fin = not data

    def _connected(self) -> None:
        code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        self.is_connected, self.error = not code, f"error {code}" if code else None

    def wait(self, other: int, timeout_s: float) -> bool:
        """Wait until there is news here or on descriptor ``other``. Return whether ``other`` can be read."""
        writes = [self._socket] if not self.is_connected or self._outgoing else []
        reads: list[socket.socket | int] = [self._socket, other]
        readable, writable, _ = select.select(reads, writes, [], timeout_s)
        if writable and not self.is_connected:
            self._connected()
        elif writable:
            self._write()
        if self._socket in readable and self.is_connected:
            self._read()
        return other in readable
