"""Channel: one connection without its socket. Every transport shares its framing and buffering.

A transport reports what happens to a channel's bytes (``established``, ``feed``, ``wrote``, ``end``), writes what
``outgoing`` holds, and calls ``report`` once per poll. With an authenticator, the channel completes authentication
first and counts as connected only then. The layers above cannot distinguish a slow handshake from a slow connect
(NET-CON-01).

Like Java's clients, it accepts responses of any size that an int32 can announce. Java allocates the announced size at
once, so a hostile broker can end a client with an OutOfMemoryError. Here only bytes that arrive take memory, and a
memory pool can limit them.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

from clients.reference.network.memory_pool import MemoryPool
from clients.reference.ports import INT32_MAX, ChannelState, Disconnection, Polled
from harness.text.sentences import Coded
from harness.wire.errors import FrameError
from harness.wire.frames import FrameReader
from harness.wire.primitives import Data


class AuthenticationFailedError(Coded):
    """The broker refused the credentials or the mechanism. The message is one sentence for the application."""


class Authenticator(Protocol):
    """An exchange of frames that precedes all requests of a connection."""

    def start(self) -> bytes:
        """Return the first frame to write."""

    def answer(self, payload: bytes) -> bytes | None:
        """Return the next frame, or None if authentication is complete.

        Raise AuthenticationFailedError if the broker refuses or the response is invalid.
        """


class Channel:
    """One connection of ``node_id``. ``outgoing`` is the unwritten rest of the current frame.

    ``is_muted`` is true while the next frame waits for memory of ``pool``.
    """

    def __init__(
        self, node_id: int, authenticator: Authenticator | None = None, pool: MemoryPool | None = None
    ) -> None:
        self.node_id = node_id
        self.state = ChannelState.NOT_CONNECTED
        self.outgoing: memoryview | None = None
        self.ended: Disconnection | None = None
        self.is_muted = False
        self._authenticator = authenticator
        self._reader = FrameReader(INT32_MAX)
        self._pool = pool
        self._reserved_bytes: int | None = None
        self._frames: deque[Data] = deque()
        self._tell_connected = False
        self._tell_sent = False

    # Called by the transport

    def established(self) -> None:
        """Record that the transport is connected: the channel is ready, or authentication starts."""
        if self._authenticator is None:
            self._ready()
        else:
            self.state = ChannelState.AUTHENTICATE
            self.outgoing = memoryview(self._authenticator.start())

    def wrote(self, count_bytes: int) -> None:
        """Record that ``count_bytes`` bytes of ``outgoing`` were passed to the network."""
        assert self.outgoing is not None
        self.outgoing = self.outgoing[count_bytes:] or None
        self._tell_sent |= self.outgoing is None and self.state is ChannelState.READY

    def feed(self, data: Data) -> None:
        """Process bytes that were read, in pieces of any size. An invalid frame size ends the channel (NET-INF-10)."""
        self._reader.feed(data)
        self.take_frames()

    def room(self) -> memoryview | None:
        """Return memory for the rest of a large frame. If it is not None, read into it and call ``filled``."""
        try:
            return self._reader.room()
        except FrameError:
            return None  # feed() ends the channel

    def filled(self, count_bytes: int) -> None:
        """Process bytes that were read into the beginning of ``room``."""
        self._reader.filled(count_bytes)
        self.take_frames()

    def take_frames(self) -> None:
        """Take whole frames from the bytes that were read, as far as there is memory for them."""
        try:
            while not self.ended and self._has_memory() and (frame := self._reader.take_frame()) is not None:
                self._reserved_bytes = None
                if self.state is ChannelState.AUTHENTICATE:
                    self._authenticate(bytes(frame))
                else:
                    self._frames.append(frame)
        except (FrameError, ValueError) as error:
            self.end(str(error), ChannelState.INVALID_RECEIVE)

    def _has_memory(self) -> bool:
        """Reserve memory for the next frame, once. Without any, the channel is muted until ``take_frames``."""
        if self._pool is None or self.state is ChannelState.AUTHENTICATE or self._reserved_bytes is not None:
            return True
        size_bytes = self._reader.announced_bytes()
        if size_bytes is None:
            return True
        self.is_muted = not self._pool.try_reserve(size_bytes)
        if not self.is_muted:
            self._reserved_bytes = size_bytes
        return not self.is_muted

    @property
    def held_bytes(self) -> int:
        """The memory that is reserved for frames that were not reported yet."""
        return sum(map(len, self._frames)) + (self._reserved_bytes or 0) if self._pool else 0

    def end(self, detail: str, state: ChannelState | None = None) -> None:
        """End the channel: no more reads or writes. ``state`` defaults to the channel's current state."""
        self.ended = self.ended or Disconnection(state or self.state, detail)

    # Called by the client

    def send(self, data: bytes) -> None:
        """Start to write one whole frame. Raise ValueError if the previous frame is still being written."""
        if self.outgoing is not None:
            raise ValueError(f"node {self.node_id} is still writing the previous frame")
        self.outgoing = memoryview(data)

    def take_sent(self) -> bool:
        """Return whether a whole frame was written and not yet reported. ``report`` then does not report it."""
        sent, self._tell_sent = self._tell_sent, False
        return sent

    @property
    def wants_to_read(self) -> bool:
        """Whether the transport should read. False without memory, and after the channel has ended."""
        return not self.is_muted and self.ended is None

    @property
    def has_news(self) -> bool:
        """Whether ``report`` has something to report."""
        if self._tell_sent or self._tell_connected:
            return True
        return bool(self._frames) or self.ended is not None

    def report(self, polled: Polled) -> None:
        """Add the channel's events to ``polled``: at most one frame, and the end only after the last (NET-INF-09)."""
        if self._tell_sent:
            polled.completed_sends.append(self.node_id)
        if self._tell_connected:
            polled.connected.append(self.node_id)
        elif self._frames:
            polled.received.append((self.node_id, self._frames.popleft()))
        elif self.ended:
            polled.disconnected[self.node_id] = self.ended
        self._tell_sent = self._tell_connected = False

    def _ready(self) -> None:
        self.state = ChannelState.READY
        self._tell_connected = True

    def _authenticate(self, frame: bytes) -> None:
        assert self._authenticator is not None
        try:
            following = self._authenticator.answer(frame)
        except AuthenticationFailedError as error:
            self.end(str(error), ChannelState.AUTHENTICATION_FAILED)
        else:
            if following is None:
                self._ready()
            else:
                self.outgoing = memoryview(following)
