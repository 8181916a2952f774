"""The Selector port on real sockets: non-blocking, one connection per node, one thread, woken by other threads.

``wait`` is the only method that waits for sockets. ``poll`` then does what the sockets allow. The channel interprets
the bytes (channel.py). Each name is looked up in a thread of its own, so that a slow lookup delays nothing else.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import selectors
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic

from clients.reference.network.channel import Authenticator, Channel
from clients.reference.network.memory_pool import MemoryPool
from clients.reference.ports import Address, ChannelState, Disconnection, Polled

READ_BYTES = 262_144
MOST_READS = 64


@dataclass(slots=True, eq=False)
class SocketConnection:
    """A channel and its socket. It is not connected until the socket is writable for the first time."""

    channel: Channel
    sock: socket.socket
    is_connected: bool = False


class SocketSelector:
    """See ports.Selector. ``authenticator`` makes one per connection, and ``close_all`` closes everything.

    Without memory in ``pool``, connections are not read until the frames of the last poll have been processed.
    """

    def __init__(
        self,
        send_buffer_bytes: int = -1,
        receive_buffer_bytes: int = -1,
        authenticator: Callable[[], Authenticator | None] = lambda: None,
        pool: MemoryPool | None = None,
    ) -> None:
        self._buffers = ((socket.SO_SNDBUF, send_buffer_bytes), (socket.SO_RCVBUF, receive_buffer_bytes))
        self._authenticator = authenticator
        self._pool = pool
        self._starved: dict[int, SocketConnection] = {}  # in the order in which they ran out of memory
        self._reported_bytes = 0
        self._lookups: dict[tuple[str, int], tuple[Address, ...] | None] = {}  # None if not finished
        self._selector = selectors.DefaultSelector()
        self._connections: dict[int, SocketConnection] = {}
        self._refused: dict[int, Disconnection] = {}
        self._waker, self._wakeups = socket.socketpair()
        self._waker.setblocking(False)
        self._wakeups.setblocking(False)
        self._selector.register(self._wakeups, selectors.EVENT_READ, None)
        self._memory = memoryview(bytearray(READ_BYTES))
        self._events: list[tuple[selectors.SelectorKey, int]] = []

    # Waiting

    def wait(self, timeout_s: float | None) -> None:
        """Block until a socket is ready, ``wakeup`` is called, or the timeout expires (None: no timeout)."""
        if self._has_news:
            timeout_s = 0
        self._events = self._selector.select(timeout_s)

    def wait_for_news(self, timeout_s: float | None) -> None:
        """Block until ``poll`` has something to report, ``wakeup`` is called, or the timeout expires.

        Meanwhile it reads frames that are not whole yet, which would otherwise take a round for each piece. Only for a
        thread that has the selector for itself.
        """
        until_s = None if timeout_s is None else monotonic() + timeout_s
        left_s = timeout_s
        while True:
            self.wait(left_s)
            if not self._events or any(key.data is None for key, _ in self._events):
                return
            self._serve_events()
            left_s = None if until_s is None else until_s - monotonic()
            if self._has_news or (left_s is not None and left_s <= 0):
                return

    @property
    def _has_news(self) -> bool:
        return bool(self._refused) or any(each.channel.has_news for each in self._connections.values())

    def wakeup(self) -> None:
        """End a ``wait``, the current or the next one. Any thread may call it."""
        try:
            self._waker.send(b"\0")
        except BlockingIOError:
            pass  # the socket's buffer is full of wake-ups already
        except OSError as error:
            if error.errno != errno.EBADF:
                raise

    # The port

    def resolve(self, host: str, port: int) -> tuple[Address, ...] | None:
        """Return an address that needs no lookup, or the result of a finished lookup, once. Never blocks."""
        if is_address(host):
            return ((host, port),)
        name = host, port
        if name not in self._lookups:
            self._lookups[name] = None
            threading.Thread(target=self._look_up, args=name, name=f"lookup of {host}", daemon=True).start()
        elif self._lookups[name] is not None:
            return self._lookups.pop(name)
        return None

    def _look_up(self, host: str, port: int) -> None:
        self._lookups[host, port] = look_up(host, port)
        self.wakeup()

    def connect(self, node_id: int, address: Address) -> None:
        """Replace the node's old connection. ``poll`` reports even a failure that is known at once."""
        self.close(node_id)
        try:
            family, kind, protocol, _, target = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0]
            sock = socket.socket(family, kind, protocol)
        except OSError as error:
            self._refused[node_id] = Disconnection(ChannelState.NOT_CONNECTED, str(error))
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, size_bytes in self._buffers:
            if size_bytes >= 0:
                sock.setsockopt(socket.SOL_SOCKET, option, size_bytes)
        connection = self._connections[node_id] = SocketConnection(
            Channel(node_id, self._authenticator(), self._pool), sock
        )
        result = sock.connect_ex(target)
        self._selector.register(sock, selectors.EVENT_WRITE, connection)
        if result not in (0, errno.EINPROGRESS):
            self._end(connection, os.strerror(result))

    def send(self, node_id: int, data: bytes) -> bool:
        """Write at once what the socket accepts, and the rest in later polls. Raise KeyError without a connection."""
        connection = self._connections[node_id]
        connection.channel.send(data)
        if not connection.channel.ended:
            self._write(connection)
        return connection.channel.take_sent()

    def poll(self) -> Polled:
        """Process what the last ``wait`` found ready, or else check the sockets now."""
        self._free_memory()
        self._events = self._events or self._selector.select(0)
        self._serve_events()
        polled = Polled(disconnected=self._refused)
        self._refused = {}
        for node_id, connection in list(self._connections.items()):
            connection.channel.report(polled)
            if node_id in polled.disconnected:
                self.close(node_id)
        if self._pool is not None:
            self._reported_bytes = sum(len(payload) for _, payload in polled.received)
        return polled

    def close(self, node_id: int) -> None:
        """Close the connection. Data that was read but not yet returned is dropped."""
        self._refused.pop(node_id, None)
        connection = self._connections.pop(node_id, None)
        if connection is not None:
            self._unregister(connection)
            connection.sock.close()
            self._starved.pop(node_id, None)
            if self._pool is not None:
                self._pool.release(connection.channel.held_bytes)

    def close_all(self) -> None:
        """Close all connections and the selector. Only ``wakeup`` may be called afterwards."""
        for node_id in list(self._connections):
            self.close(node_id)
        self._selector.close()
        self._waker.close()
        self._wakeups.close()

    # One connection

    def _free_memory(self) -> None:
        """Return the memory of the frames that were reported last, and give it to those that wait the longest."""
        if self._pool is None:
            return
        self._pool.release(self._reported_bytes)
        self._reported_bytes = 0
        for node_id, connection in list(self._starved.items()):
            connection.channel.take_frames()
            if connection.channel.is_muted:
                break
            del self._starved[node_id]
            self._listen(connection)

    def _serve_events(self) -> None:
        events, self._events = self._events, []
        for key, mask in events:
            connection: SocketConnection | None = key.data
            if connection is None:
                self._drain_wakeups()
            elif self._connections.get(connection.channel.node_id) is connection:
                self._serve(connection, mask)

    def _serve(self, connection: SocketConnection, mask: int) -> None:
        channel = connection.channel
        if not connection.is_connected:
            code = connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                self._end(connection, os.strerror(code))
                return
            connection.is_connected = True
            channel.established()
            self._write(connection)
            return
        if mask & selectors.EVENT_WRITE and channel.outgoing:
            self._write(connection)
        if mask & selectors.EVENT_READ and channel.wants_to_read:
            self._read(connection)
            self._write(connection)

    def _write(self, connection: SocketConnection) -> None:
        channel = connection.channel
        try:
            while channel.outgoing and not channel.ended:
                channel.wrote(connection.sock.send(channel.outgoing))
        except BlockingIOError:
            pass
        except OSError as error:
            self._read_the_rest(connection)
            self._end(connection, str(error), ChannelState.FAILED_SEND if _is_ready(channel) else None)
        self._listen(connection)

    def _read_the_rest(self, connection: SocketConnection) -> None:
        """Read responses that the broker sent before it stopped reading. They still count."""
        try:
            while connection.channel.wants_to_read and (data := connection.sock.recv(READ_BYTES)):
                connection.channel.feed(data)
        except OSError:
            pass

    def _read(self, connection: SocketConnection) -> None:
        """Read until the socket is empty or a frame is whole, but not forever from a peer that never stops."""
        channel, sock = connection.channel, connection.sock
        try:
            for _ in range(MOST_READS):
                room = channel.room()
                count = sock.recv_into(self._memory if room is None else room)
                if not count:
                    self._end(connection, "the broker closed the connection")
                    return
                if room is None:
                    channel.feed(self._memory[:count])
                else:
                    channel.filled(count)
                if channel.has_news or not channel.wants_to_read:
                    break
        except BlockingIOError:
            pass
        except OSError as error:
            self._end(connection, str(error))
            return
        if channel.is_muted:
            self._starved[channel.node_id] = connection

    def _end(self, connection: SocketConnection, why: str, state: ChannelState | None = None) -> None:
        connection.channel.end(why, state)
        self._listen(connection)

    def _listen(self, connection: SocketConnection) -> None:
        """Watch for the events that the channel needs. None if it has ended."""
        channel, sock = connection.channel, connection.sock
        wanted = 0 if channel.ended else selectors.EVENT_WRITE
        if connection.is_connected:
            wanted = selectors.EVENT_READ if channel.wants_to_read else 0
            wanted |= selectors.EVENT_WRITE if channel.outgoing and not channel.ended else 0
        registered = sock in self._selector.get_map()
        if not wanted:
            self._unregister(connection)
        elif not registered:
            self._selector.register(sock, wanted, connection)
        elif self._selector.get_key(sock).events != wanted:
            self._selector.modify(sock, wanted, connection)

    def _unregister(self, connection: SocketConnection) -> None:
        try:
            self._selector.unregister(connection.sock)
        except KeyError:
            pass

    def _drain_wakeups(self) -> None:
        with suppress(BlockingIOError):
            self._wakeups.recv(4096)


def _is_ready(channel: Channel) -> bool:
    return channel.state is ChannelState.READY


def look_up(host: str, port: int) -> tuple[Address, ...]:
    """Return the addresses of a name. Blocks during the lookup. Return an empty tuple if it fails."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return tuple(dict.fromkeys((str(address[0]), port) for *_, address in found))


def is_address(host: str) -> bool:
    """Return whether ``host`` is an IP address, so that connecting needs no lookup."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
