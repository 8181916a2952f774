"""Channel: one connection without its socket, the framing and staging that every transport shares.

A transport tells a channel what its bytes do (``established``, ``feed``, ``wrote``, ``end``), writes what ``outgoing``
holds, and lets it ``report`` once a poll. With an authenticator the channel first lets that speak; only then is it
connected, so that nobody above can tell a slow handshake from a slow connect (NET-CON-01).
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

from clients.reference.ports import ChannelState, Disconnection, Polled
from harness.wire.errors import FrameError
from harness.wire.frames import FrameReader


class AuthenticationFailedError(Exception):
    """The credentials, or the mechanism, were refused: one sentence for the application."""


class Authenticator(Protocol):
    """An exchange of frames before the connection is anybody's."""

    def start(self) -> bytes:
        """The first frame to write."""

    def answer(self, payload: bytes) -> bytes | None:
        """The next frame, or None once it is done.

        Raises AuthenticationFailedError for a refusal, and for what is no answer.
        """


class Channel:
    """One connection of ``node_id``; ``outgoing`` is what is left of the frame that is being written."""

    def __init__(self, node_id: int, authenticator: Authenticator | None = None) -> None:
        self.node_id = node_id
        self.state = ChannelState.NOT_CONNECTED
        self.outgoing: memoryview | None = None
        self.ended: Disconnection | None = None
        self.is_muted = False
        self._authenticator = authenticator
        self._reader = FrameReader()
        self._frames: deque[bytes] = deque()
        self._tell_connected = False
        self._tell_sent = False

    # what the transport tells

    def established(self) -> None:
        """The bytes can flow: connected, or the first word of the authenticator."""
        if self._authenticator is None:
            self._ready()
        else:
            self.state = ChannelState.AUTHENTICATE
            self.outgoing = memoryview(self._authenticator.start())

    def wrote(self, count_bytes: int) -> None:
        """That many bytes of ``outgoing`` are with the network."""
        assert self.outgoing is not None
        self.outgoing = self.outgoing[count_bytes:] or None
        self._tell_sent |= self.outgoing is None and self.state is ChannelState.READY

    def feed(self, data: bytes) -> None:
        """Bytes were read, in whatever pieces; a size that cannot be ends the channel (NET-INF-10)."""
        self._reader.feed(data)
        try:
            while not self.ended and (frame := self._reader.next_frame()) is not None:
                if self.state is ChannelState.AUTHENTICATE:
                    self._authenticate(frame)
                else:
                    self._frames.append(frame)
        except FrameError as error:
            self.end(str(error), ChannelState.INVALID_RECEIVE)

    def end(self, detail: str, state: ChannelState | None = None) -> None:
        """Nothing more will be read or written; ``state`` where it is not simply how far the channel had come."""
        self.ended = self.ended or Disconnection(state or self.state, detail)

    # what the client asks

    def send(self, data: bytes) -> None:
        """Begin to write one whole frame; raises ValueError while the one before is under way."""
        if self.outgoing is not None:
            raise ValueError(f"node {self.node_id} is still writing the frame before")
        self.outgoing = memoryview(data)

    def take_sent(self) -> bool:
        """Is the frame written whole, and nobody was told? Then ``report`` will not tell it."""
        sent, self._tell_sent = self._tell_sent, False
        return sent

    @property
    def wants_to_read(self) -> bool:
        """False while muted, and for good once it has ended."""
        return not self.is_muted and self.ended is None

    @property
    def has_news(self) -> bool:
        """Has ``report`` something to say?"""
        if self._tell_sent or self._tell_connected:
            return True
        return not self.is_muted if self._frames else self.ended is not None

    def report(self, polled: Polled) -> None:
        """What a poll tells: at most one frame, and the end only behind the last one (NET-INF-09)."""
        if self._tell_sent:
            polled.completed_sends.append(self.node_id)
        if self._tell_connected:
            polled.connected.append(self.node_id)
        elif self._frames:
            if not self.is_muted:
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
