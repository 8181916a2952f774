"""Where connections come in: each is accepted from the kernel by hand, one a turn of the event loop.

asyncio's own server loses what it is accepting when it is closed, and cannot say whether anything still waits. Here
every accepted socket has an owner at once, and :meth:`Acceptor.drain` returns when none of those that came before
it waits any more.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from harness.model.addresses import Address
from harness.system.dial import dial

BACKLOG = 512
#: Out of file descriptors or memory: the connection keeps waiting, and so does the event loop's interest in it.
RETRY_S = 1.0
_LINGER_ZERO = struct.pack("ii", 1, 0)


class Acceptor:
    """Listens on ``address`` from the start. OSError if that cannot be.

    ``takes`` gives the protocol for a connection, or None: then it is reset. ``failed`` hears when none can be
    accepted for now.
    """

    def __init__(
        self,
        address: Address,
        takes: Callable[[], asyncio.Protocol | None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._takes, self._failed = takes, failed
        self._loop = asyncio.get_running_loop()
        self._socket = socket.create_server(address, backlog=BACKLOG)
        self._socket.setblocking(False)
        #: For each :meth:`drain`, the port of its connection, and what is set when that is accepted.
        self._awaited: list[tuple[Counter[int], asyncio.Event]] = []
        self._connecting: set[asyncio.Task[None]] = set()
        self._retry: asyncio.TimerHandle | None = None
        self._listen()

    @property
    def is_open(self) -> bool:
        """Whether connections are accepted."""
        return self._socket.fileno() != -1

    def stop(self) -> None:
        """Accept no more. What the kernel still holds is reset."""
        if self._retry is not None:
            self._retry.cancel()
        if self.is_open:
            self._loop.remove_reader(self._socket)
        self._socket.close()

    async def close(self) -> None:
        """:meth:`stop`; returns when each accepted connection has reached its protocol."""
        self.stop()
        await self._connected()

    async def drain(self) -> None:
        """Return once every connection that came before has reached its protocol, or was reset.

        The kernel hands connections over in the order in which they came: all those before one of our own are then
        known. Returns at once if it is not open. OSError if it cannot be dialled.
        """
        if not self.is_open:
            return
        own = (Counter[int](), asyncio.Event())
        self._awaited.append(own)
        ports, accepted = own
        try:
            with await dial(self._socket.getsockname(), ports):
                await accepted.wait()
        finally:
            self._awaited.remove(own)
        await self._connected()

    async def _connected(self) -> None:
        await asyncio.gather(*self._connecting)

    def _listen(self) -> None:
        self._retry = None
        self._loop.add_reader(self._socket, self._accept)

    def _accept(self) -> None:
        try:
            connection, (_, port) = self._socket.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        except OSError as error:
            self._loop.remove_reader(self._socket)
            self._retry = self._loop.call_later(RETRY_S, self._listen)
            self._failed(RuntimeError(f"it cannot accept connections: {error.strerror}"))
            return
        if (accepted := next((own for ports, own in self._awaited if ports[port]), None)) is not None:
            connection.close()
            accepted.set()
        elif (protocol := self._takes()) is None:
            end_with_reset(connection)
            connection.close()
        else:
            task = self._loop.create_task(self._connect(connection, protocol))
            self._connecting.add(task)
            task.add_done_callback(self._connecting.discard)

    async def _connect(self, connection: socket.socket, protocol: asyncio.Protocol) -> None:
        connection.setblocking(False)
        try:
            await self._loop.connect_accepted_socket(lambda: protocol, connection)
        except Exception as error:  # otherwise the protocol would wait for its end forever
            connection.close()
            self._failed(error)
            protocol.connection_lost(error)


def end_with_reset(connection: socket.socket) -> None:
    """Let the close of ``connection`` be an RST, so that its peer learns that the stream was cut and not finished."""
    with suppress(OSError):  # the peer has reset it already
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
