"""The Selector port on real sockets: non-blocking, one connection a node, one thread, woken from others.

``wait`` is the only place that blocks. ``poll`` then does what the sockets allow. A frame is handed over per node and
poll at most; frames that were read before a connection ended are handed over before the end is reported.
"""

from __future__ import annotations

import errno
import os
import selectors
import socket
from collections import deque
from dataclasses import dataclass, field

from clients.reference.ports import Node, Polled
from harness.wire.errors import FrameError
from harness.wire.frames import FrameReader

READ_BYTES = 262_144


@dataclass(slots=True, eq=False)
class Channel:
    """One node's socket; ``outgoing`` is what is left of the frame under way, ``ended`` why nothing more comes."""

    node_id: int
    sock: socket.socket
    is_connected: bool = False
    outgoing: memoryview | None = None
    reader: FrameReader = field(default_factory=FrameReader)
    frames: deque[bytes] = field(default_factory=deque)
    ended: str | None = None


class SocketSelector:
    """See ports.Selector; ``close_all`` ends everything."""

    def __init__(self, send_buffer_bytes: int = -1, receive_buffer_bytes: int = -1) -> None:
        self._buffers = ((socket.SO_SNDBUF, send_buffer_bytes), (socket.SO_RCVBUF, receive_buffer_bytes))
        self._selector = selectors.DefaultSelector()
        self._channels: dict[int, Channel] = {}
        self._addresses: dict[int, int] = {}  # node id -> how many of its addresses were tried
        self._news = Polled()
        self._is_woken = False
        self._waker, self._wakeups = socket.socketpair()
        self._waker.setblocking(False)
        self._wakeups.setblocking(False)
        self._selector.register(self._wakeups, selectors.EVENT_READ, None)
        self._events: list[tuple[selectors.SelectorKey, int]] = []

    # waiting

    def wait(self, timeout_s: float | None) -> None:
        """Block until a socket is ready, ``wakeup`` is called, or the time is over (None: no limit)."""
        if self._has_news():
            timeout_s = 0
        self._events = self._selector.select(timeout_s)

    def wakeup(self) -> None:
        """End a ``wait``, the current or the next one; from any thread."""
        try:
            self._waker.send(b"\0")
        except BlockingIOError:
            pass  # as many wake-ups as a socket holds are on their way
        except OSError as error:
            if error.errno != errno.EBADF:
                raise

    def _has_news(self) -> bool:
        news = self._news
        return bool(news.connected or news.completed_sends or news.received or news.disconnected) or any(
            channel.ended or channel.frames for channel in self._channels.values()
        )

    # the port

    def connect(self, node: Node) -> None:
        """Tries the addresses of a name in turn, one an attempt (NET-CON-09)."""
        self.close(node.id)
        try:
            found = socket.getaddrinfo(node.host, node.port, type=socket.SOCK_STREAM)
            tried = self._addresses.get(node.id, 0)
            self._addresses[node.id] = tried + 1
            family, kind, protocol, _, address = found[tried % len(found)]
            sock = socket.socket(family, kind, protocol)
        except OSError as error:
            self._news.disconnected[node.id] = f"cannot connect to {node.host}:{node.port}: {error}"
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for option, size_bytes in self._buffers:
            if size_bytes >= 0:
                sock.setsockopt(socket.SOL_SOCKET, option, size_bytes)
        channel = self._channels[node.id] = Channel(node.id, sock)
        result = sock.connect_ex(address)
        self._selector.register(sock, selectors.EVENT_WRITE, channel)
        if result not in (0, errno.EINPROGRESS):
            self._end(channel, os.strerror(result))

    def send(self, node_id: int, data: bytes) -> None:
        channel = self._channels[node_id]
        if channel.outgoing is not None:
            raise ValueError(f"node {node_id} is still writing the frame before")
        channel.outgoing = memoryview(data)
        self._write(channel)

    def poll(self) -> Polled:
        for key, mask in self._events or self._selector.select(0):
            channel: Channel | None = key.data
            if channel is None:
                self._drain_wakeups()
            elif self._channels.get(channel.node_id) is channel and not channel.ended:
                self._serve(channel, mask)
        self._events = []
        polled, self._news = self._news, Polled()
        for channel in list(self._channels.values()):
            self._hand_over(channel, polled)
        return polled

    def close(self, node_id: int) -> None:
        channel = self._channels.pop(node_id, None)
        if channel is not None:
            self._unregister(channel)
            channel.sock.close()
            self._news.connected = [other for other in self._news.connected if other != node_id]
            self._news.completed_sends = [other for other in self._news.completed_sends if other != node_id]

    def close_all(self) -> None:
        for node_id in list(self._channels):
            self.close(node_id)
        self._selector.close()
        self._waker.close()
        self._wakeups.close()

    # one channel

    def _serve(self, channel: Channel, mask: int) -> None:
        if not channel.is_connected:
            code = channel.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                self._end(channel, os.strerror(code))
                return
            channel.is_connected = True
            self._news.connected.append(channel.node_id)
            self._listen(channel)
            return
        if mask & selectors.EVENT_WRITE and channel.outgoing:
            self._write(channel)
        if mask & selectors.EVENT_READ and not channel.ended:
            self._read(channel)

    def _write(self, channel: Channel) -> None:
        assert channel.outgoing is not None
        try:
            while channel.outgoing:
                channel.outgoing = channel.outgoing[channel.sock.send(channel.outgoing) :]
        except BlockingIOError:
            pass
        except OSError as error:
            self._end(channel, str(error))
            return
        if not channel.outgoing:
            channel.outgoing = None
            self._news.completed_sends.append(channel.node_id)
        self._listen(channel)

    def _read(self, channel: Channel) -> None:
        try:
            data = channel.sock.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(channel, str(error))
            return
        if not data:
            self._end(channel, "the broker closed the connection")
            return
        channel.reader.feed(data)
        try:
            while (frame := channel.reader.next_frame()) is not None:
                channel.frames.append(frame)
        except FrameError as error:
            self._end(channel, str(error))

    def _hand_over(self, channel: Channel, polled: Polled) -> None:
        """At most one whole frame; the end of the connection only behind the last one."""
        if channel.frames:
            polled.received.append((channel.node_id, channel.frames.popleft()))
        elif channel.ended:
            polled.disconnected[channel.node_id] = channel.ended
            self.close(channel.node_id)

    def _end(self, channel: Channel, why: str) -> None:
        """Nothing more will be read or written."""
        self._unregister(channel)
        channel.ended = channel.ended or why

    def _listen(self, channel: Channel) -> None:
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if channel.outgoing else 0)
        if self._selector.get_key(channel.sock).events != wanted:
            self._selector.modify(channel.sock, wanted, channel)

    def _unregister(self, channel: Channel) -> None:
        try:
            self._selector.unregister(channel.sock)
        except KeyError:
            pass

    def _drain_wakeups(self) -> None:
        try:
            while self._wakeups.recv(4096):
                pass
        except BlockingIOError:
            pass
