"""One connection through the witness: two sockets, each giving its bytes to the other at once and unchanged.

What one side does, the other side sees: bytes, the end of the stream in one direction (FIN), and the sudden end of
both (RST). A side that does not read makes the other side wait, so that little more than one buffer is held for
either. Bytes are passed on first and read afterwards; nothing that reading finds, or fails at, changes the stream.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import Callable, Iterable
from typing import cast

from harness.ports import Address
from harness.rows import Frame
from harness.witness.transcript import BROKER, CLIENT, Transcript

#: What may wait for a side that does not read, before the other side is held; a chunk more may be under way.
HIGH_WATER_BYTES = 256 * 2**10
_LINGER_ZERO = struct.pack("ii", 1, 0)


class Side(asyncio.Protocol):
    """One socket of a relay."""

    transport: asyncio.Transport
    other: Side

    def __init__(self, relay: Relay, name: str) -> None:
        self._relay = relay
        self.name = name
        self.is_open = False
        self._at_end = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Bytes may flow; beyond HIGH_WATER_BYTES unwritten the other side is held."""
        self.transport = cast("asyncio.Transport", transport)
        self.transport.set_write_buffer_limits(high=HIGH_WATER_BYTES)
        self.is_open = True
        self._relay.connected(self)

    def data_received(self, data: bytes) -> None:
        """Pass on first, then tell: the time is that of the arrival."""
        t_ns = time.monotonic_ns()
        self.other.transport.write(data)
        self._relay.passed(self, t_ns, data)

    def eof_received(self) -> bool:
        """A FIN: passed on alone, and both sockets closed once both directions have ended."""
        t_ns = time.monotonic_ns()
        self._at_end = True
        self.other.transport.write_eof()
        self._relay.closing(self, t_ns)
        if self.other._at_end:
            self.transport.close()
            self.other.transport.close()
        return True  # the other direction stays open

    def connection_lost(self, error: Exception | None) -> None:
        """``error`` is None where we closed the socket ourselves."""
        t_ns = time.monotonic_ns()
        self.is_open = False
        self._relay.lost(self, t_ns, error)

    def pause_writing(self) -> None:
        """This side does not read: stop taking bytes from the other."""
        self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        """This side reads again; an other side that has sent its FIN has no more to give."""
        if not self.other._at_end:
            self.other.transport.resume_reading()

    def reset(self) -> None:
        """End with RST, so that the peer learns that the stream was cut and not finished."""
        if self.is_open:
            raw = self.transport.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
            self.transport.abort()


class Relay:
    """Joins an accepted connection with a new one to ``listener``.

    ``emit`` gets the rows, ``failed`` any error in making or giving them, ``forget`` the relay itself when both
    sockets are gone, which ``done`` tells as well.
    """

    def __init__(
        self,
        listener: Address,
        transcript: Transcript,
        emit: Callable[[Frame], None],
        failed: Callable[[Exception], None],
        forget: Callable[[Relay], None],
    ) -> None:
        self._listener = listener
        self._transcript = transcript
        self._emit = emit
        self._failed = failed
        self._forget = forget
        self._aborted = False
        self._dial: asyncio.Task[None] | None = None
        self.client, self.broker = Side(self, CLIENT), Side(self, BROKER)
        self.client.other, self.broker.other = self.broker, self.client
        self.done = asyncio.Event()

    def connected(self, side: Side) -> None:
        """A socket is there: the client's, for which the broker is then dialled, or the broker's."""
        if self._aborted:
            side.reset()
        elif side is self.client:
            self.client.transport.pause_reading()
            self._tell([self._transcript.opened(time.monotonic_ns())])
            self._dial = asyncio.get_running_loop().create_task(self._reach_broker())
        else:
            self.client.transport.resume_reading()

    async def _reach_broker(self) -> None:
        try:
            await asyncio.get_running_loop().create_connection(lambda: self.broker, *self._listener)
        except OSError as error:
            note = f"the broker could not be reached: {error.strerror or error}"
            self._tell(self._transcript.closed(time.monotonic_ns(), BROKER, note))
            self.client.reset()

    def passed(self, side: Side, t_ns: int, data: bytes) -> None:
        """``data`` came from ``side`` and has been passed on."""
        read = self._transcript.sent if side is self.client else self._transcript.answered
        self._tell(read(t_ns, data))

    def closing(self, side: Side, t_ns: int, note: str | None = None) -> None:
        """``side`` will send no more."""
        self._tell(self._transcript.closed(t_ns, side.name, note))

    def lost(self, side: Side, t_ns: int, error: Exception | None) -> None:
        """The socket of ``side`` is gone: with an error it was reset, without one we have closed it."""
        if error is not None:
            self.closing(side, t_ns, "reset")
            side.other.reset()
        if not side.other.is_open and not self.done.is_set():
            self._tell(self._transcript.ended(t_ns))
            self._forget(self)
            self.done.set()

    def abort(self) -> None:
        """The witness itself ends the connection."""
        self._aborted = True
        if self._dial is not None:
            self._dial.cancel()
        self._tell(self._transcript.closed(time.monotonic_ns(), None, "the witness was closed"))
        self.client.reset()
        self.broker.reset()

    def _tell(self, rows: Iterable[Frame]) -> None:
        # An exception would make asyncio end the connection: whatever fails in here must stay in here.
        try:
            for row in rows:
                self._emit(row)
        except Exception as error:
            self._failed(error)
