"""Accept connections one by one, in one callback of the event loop each.

When asyncio's own server is closed, it loses the connections that it is accepting, and it cannot report whether any are
still waiting. Here every accepted socket has an owner at once, and :meth:`Acceptor.drain` returns when no earlier
connection is waiting any more.
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
#: The delay before the next try to accept after the process ran out of file descriptors or memory. The listener is
#: removed from the event loop meanwhile.
RETRY_S = 1.0
_LINGER_ZERO = struct.pack("ii", 1, 0)


class Acceptor:
    """Listens on ``address`` from construction on. Raises OSError if that is not possible.

    ``takes`` returns the protocol for a connection, or None to have it reset. ``failed`` is called with an error when
    no connection can be accepted for the moment.
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
        #: For each running :meth:`drain`: the source port of its connection, and the event that is set once that is
        #: accepted.
        self._awaited: list[tuple[Counter[int], asyncio.Event]] = []
        self._connecting: set[asyncio.Task[None]] = set()
        self._retry: asyncio.TimerHandle | None = None
        self._listen()

    @property
    def is_open(self) -> bool:
        """True while connections are accepted."""
        return self._socket.fileno() != -1

    def stop(self) -> None:
        """Stop accepting. The kernel resets the connections that are still in its queue."""
        if self._retry is not None:
            self._retry.cancel()
        if self.is_open:
            self._loop.remove_reader(self._socket)
        self._socket.close()

    async def close(self) -> None:
        """Call :meth:`stop`, then wait until every accepted connection has reached its protocol."""
        self.stop()
        await self._connected()

    async def drain(self) -> None:
        """Wait until every connection made before the call has reached its protocol or has been reset.

        The kernel returns connections in the order of their arrival, so this method makes its own connection and waits
        until it is accepted. Returns at once if the acceptor is not open. Raises OSError if the connection cannot be
        made.
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
        except Exception as error:  # without this the protocol would wait for its end forever
            connection.close()
            self._failed(error)
            protocol.connection_lost(error)


def end_with_reset(connection: socket.socket) -> None:
    """Make the close of ``connection`` send an RST, so that the peer sees a cut stream and not a finished one."""
    with suppress(OSError):  # the peer has reset it already
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
