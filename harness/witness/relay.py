"""One connection through the witness: two sockets, each of which passes its bytes to the other at once and unchanged.

Each side sees what the other side does: its bytes, the end of its direction (FIN), and the abrupt end of both (RST). A
side that does not read makes the other side wait, so that little more than one buffer is kept for either. Bytes are
passed on first and read afterwards. No result or error of the reading changes the stream.

Rules change this (:mod:`harness.witness.pipeline`): a frame is then held back until it is complete, and a rule decides
about it. Its row is emitted when the decision has taken effect. Frames that still wait when the connection ends get a
row that reports them as stopped.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import cast

from harness.limits.frames import WHOLE_LIMIT_BYTES
from harness.model.addresses import Address
from harness.model.rows import Frame
from harness.system.dial import dial
from harness.witness.acceptor import end_with_reset
from harness.witness.actions import End, Write
from harness.witness.begun import Begun
from harness.witness.pace import Pace
from harness.witness.pipeline import DirectionPipeline
from harness.witness.rules import FrameRules
from harness.witness.send_queue import Finish, RowRecorded
from harness.witness.transcript import BROKER, CLIENT, Transcript

#: The limit of bytes that wait for a side that does not read, before the other side is paused. One more chunk may be on
#: its way.
HIGH_WATER_BYTES = 256 * 2**10
#: The name of the task that connects to the broker.
DIAL = "dial"


class Side(asyncio.Protocol):
    """One socket of a relay."""

    transport: asyncio.Transport
    other: Side

    def __init__(self, relay: Relay, name: str, passage: DirectionPipeline) -> None:
        self._relay = relay
        self.name = name
        self.passage = passage
        self.is_open = False
        self._at_end = False
        self.has_ended = False
        self._held_by: set[str] = set()
        #: The bytes that were received but not yet passed on, for lack of time in this turn.
        self._unread = b""
        #: The timer for the steps that wait. One is enough, because arriving bytes trigger a look at the steps as well.
        self.alarm: asyncio.TimerHandle | None = None

    def hold(self, reason: str) -> None:
        """Stop reading for ``reason``. Reading resumes once no reason is left."""
        self._held_by.add(reason)
        self.transport.pause_reading()

    def let_go(self, reason: str) -> None:
        """Resume reading, unless there is another reason not to. A side that has sent its FIN is not read any more."""
        if reason in self._held_by:
            self._held_by.discard(reason)
            if not self._held_by and not self._at_end and self.is_open:
                self.transport.resume_reading()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the flow of bytes. Above HIGH_WATER_BYTES of unwritten bytes the other side is paused."""
        self.transport = cast("asyncio.Transport", transport)
        self.transport.set_write_buffer_limits(high=HIGH_WATER_BYTES)
        self.is_open = True
        self._relay.connected(self)

    def data_received(self, data: bytes) -> None:
        """Pass ``data`` on first, then emit its rows with its arrival time. Data that exceeds this turn waits."""
        self._unread = data
        self._go_through()
        if self._unread:
            self.hold("its turn")
            self._relay.pace.wait(self._take_turn)

    def _take_turn(self) -> None:
        if self.transport.is_closing():  # the rest has no destination
            return
        self._take_piece()
        self._go_through()
        if self._unread:
            self._relay.pace.wait(self._take_turn)
        else:
            self.let_go("its turn")

    def _go_through(self) -> None:
        while self._unread and not self.transport.is_closing() and self._relay.pace.has_time():
            self._take_piece()

    def _take_piece(self) -> None:
        # asyncio would treat an error as one of the connection, and the witness would mistake it for the client's
        # reset.
        try:
            self._unread = self._relay.pace.take(self._unread, self._take)
        except Exception as error:
            self._relay.break_off(error)

    def _take(self, data: bytes) -> None:
        t_ns = time.monotonic_ns()
        if not self._relay.may_begin(self, data):
            return
        if self.passage.takes(data):
            self._relay.guarded(self, t_ns, data)
            return
        self.other.transport.write(data)
        self._relay.passed(self, t_ns, data)

    def eof_received(self) -> bool:
        """Pass a FIN on in its own direction, after all bytes that are held back."""
        t_ns = time.monotonic_ns()
        self._at_end = True
        self._relay.closing(self, t_ns)
        if self.passage.is_guarded:
            self.passage.finish(t_ns)
            self._relay.go_on(self)
        else:
            self.pass_on_end()
        return True  # the other direction stays open

    def pass_on_end(self) -> None:
        """Send a FIN to the other side. Both sockets are closed once both directions have ended."""
        self.has_ended = True
        with suppress(OSError):  # it has just been reset, and connection_lost() has not been called yet
            self.other.transport.write_eof()
        if self.other.has_ended:
            self.transport.close()
            self.other.transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        """Record the loss of the socket. ``error`` is None if the witness closed it."""
        t_ns = time.monotonic_ns()
        self.is_open = False
        self._relay.lost(self, t_ns, error)

    def pause_writing(self) -> None:
        """Stop reading from the other side, because this side does not read."""
        self.other.hold("unwritten")

    def resume_writing(self) -> None:
        """Resume reading from the other side, because this side reads again."""
        self.other.let_go("unwritten")

    def look_again(self, due_ns: int | None) -> None:
        """Set the timer for the steps that wait, in place of an earlier one. None sets no timer."""
        if self.alarm is not None:
            self.alarm.cancel()
            self.alarm = None
        if due_ns is not None:
            delay_s = max(0, due_ns - time.monotonic_ns()) / 1e9
            self.alarm = asyncio.get_running_loop().call_later(delay_s, self._relay.go_on_later, self)

    def reset(self) -> None:
        """End with RST, so that the peer sees a cut stream and not a finished one."""
        if self.is_open:
            _reset(self.transport)


def _reset(transport: asyncio.Transport) -> None:
    end_with_reset(transport.get_extra_info("socket"))
    transport.abort()


class Relay:
    """Joins an accepted connection with a new one to ``listener``, whose source port is counted in ``dialled`` first.

    ``emit`` is called with the rows, ``failed`` with any error in making or emitting them, and ``forget`` with the
    relay itself when both sockets are gone, which also sets ``done``. ``reserves`` is called with the change in the
    broker's memory reservation and returns whether it is within the limit. ``pace`` is the lane's.
    """

    def __init__(
        self,
        listener: Address,
        transcript: Transcript,
        emit: Callable[[Frame], None],
        failed: Callable[[Exception], None],
        forget: Callable[[Relay], None],
        rules: FrameRules,
        whole_limit_bytes: int = WHOLE_LIMIT_BYTES,
        dialled: Counter[int] | None = None,
        reserves: Callable[[int], bool] = lambda _: True,
        pace: Pace | None = None,
    ) -> None:
        self._listener = listener
        self._dialled = Counter[int]() if dialled is None else dialled
        self._transcript = transcript
        self._emit = emit
        self._failed = failed
        self._forget = forget
        self.pace = Pace() if pace is None else pace
        self._aborted = False
        self._begun, self._reserves = Begun(), reserves
        self._dial: asyncio.Task[None] | None = None
        self.client, self.broker = (
            Side(self, name, DirectionPipeline(name, transcript, rules, whole_limit_bytes, failed))
            for name in (CLIENT, BROKER)
        )
        self.client.other, self.broker.other = self.broker, self.client
        self.done = asyncio.Event()

    def connected(self, side: Side) -> None:
        """Handle a connected socket. If it is the client's, dial the broker. If it is the broker's, start reading."""
        if self._aborted:
            side.reset()
        elif side is self.client:
            self.client.transport.pause_reading()
            self._tell([self._transcript.opened(time.monotonic_ns())])
            self._dial = asyncio.get_running_loop().create_task(self._reach_broker(), name=DIAL)
            self._dial.add_done_callback(self._has_dialled)
        else:
            self.client.transport.resume_reading()

    async def _reach_broker(self) -> None:
        try:
            connection = await dial(self._listener, self._dialled)
            await asyncio.get_running_loop().create_connection(lambda: self.broker, sock=connection)
        except (ConnectionError, TimeoutError) as error:  # any other error is the witness's, not the broker's
            note = f"the broker could not be reached: {error.strerror or error}"
            self._tell(self._transcript.closed(time.monotonic_ns(), BROKER, note))
            self.client.reset()

    def _has_dialled(self, task: asyncio.Task[None]) -> None:
        """End the connection if dialling failed: else the client would wait forever, and seem to be slow."""
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is not None and not self._aborted:
            self.break_off(RuntimeError(f"no broker was dialled: {error!r}"))

    def break_off(self, error: Exception) -> None:
        """Report an error of the witness, which is neither side's fault, and end the connection."""
        self._failed(error)
        self.abort()

    def may_begin(self, side: Side, data: bytes) -> bool:
        """Return False if ``data`` exceeds the limit on started requests.

        The connection is then ended before the broker receives the data.
        """
        if side is self.broker:
            return True
        before = self._begun.reserved_bytes
        self._begun.feed(data)
        if self._reserves(self._begun.reserved_bytes - before):
            return True
        self.end(reset=True, note="ended by a limit")
        return False

    def passed(self, side: Side, t_ns: int, data: bytes) -> None:
        """Emit the rows of ``data``, which came from ``side`` and has been passed on."""
        read = self._transcript.sent if side is self.client else self._transcript.answered
        try:
            for row in read(t_ns, data):
                self._emit(row)
        except Exception as error:  # as in _tell
            self._failed(error)
        if self._transcript.is_opaque:
            self._give_up(t_ns)

    def guarded(self, side: Side, t_ns: int, data: bytes) -> None:
        """Process ``data``, which came from ``side`` and is under rules."""
        side.passage.feed(t_ns, data)
        if self._transcript.is_opaque:
            self._give_up(t_ns)
        self.go_on(side)

    def _give_up(self, t_ns: int) -> None:
        for side in (self.client, self.broker):
            side.passage.give_up(t_ns)
            if side.passage.is_guarded:
                self.go_on(side)

    def go_on(self, side: Side) -> None:
        """Pass on the bytes from ``side`` that may leave now, and set the timer for the rest."""
        for step in side.passage.due(time.monotonic_ns()):
            match step:
                case Write(data):
                    side.other.transport.write(data)
                case RowRecorded(row):
                    self._tell([row])
                case End(reset):
                    self.end(reset=reset)
                case Finish():
                    side.pass_on_end()
        if side.passage.waiting_bytes > HIGH_WATER_BYTES:
            side.hold("waiting")
        else:
            side.let_go("waiting")
        side.look_again(side.passage.due_ns)

    def go_on_later(self, side: Side) -> None:
        """Call :meth:`go_on` from the timer. An exception must not reach the event loop."""
        try:
            self.go_on(side)
        except Exception as error:
            self.break_off(error)

    def end(self, *, reset: bool, note: str = "ended by a rule") -> None:
        """End the connection on both sides because of a rule or a limit."""
        t_ns = time.monotonic_ns()
        self._stop(t_ns)
        self._tell(self._transcript.closed(t_ns, None, note))
        for side in (self.client, self.broker):
            if reset:
                side.reset()
            elif side.is_open:
                side.transport.close()

    def closing(self, side: Side, t_ns: int, note: str | None = None) -> None:
        """Emit the row for the end of what ``side`` sends."""
        self._tell(self._transcript.closed(t_ns, side.name, note))

    def lost(self, side: Side, t_ns: int, error: Exception | None) -> None:
        """Handle the loss of the socket of ``side``: it was reset if there is an error, else the witness closed it."""
        self._stop(t_ns)
        if error is not None:
            self.closing(side, t_ns, "reset")
            side.other.reset()
        if not side.other.is_open and not self.done.is_set():
            self._tell(self._transcript.ended(t_ns))
            self._reserves(-self._begun.reserved_bytes)
            self._forget(self)
            self.done.set()

    @property
    def partial_request_bytes(self) -> int:
        """The number of bytes that were passed on of a request that is not complete."""
        return self._transcript.partial_request_bytes

    def abort(self) -> None:
        """End the connection because the witness itself stops."""
        self._aborted = True
        if self._dial is not None:
            self._dial.cancel()
        t_ns = time.monotonic_ns()
        self._stop(t_ns)
        self._tell(self._transcript.closed(t_ns, None, "the witness ended it"))
        self.client.reset()
        self.broker.reset()

    def _stop(self, t_ns: int) -> None:
        """Discard everything that waits in either direction, and emit its rows as stopped."""
        self.client.look_again(None)
        self.broker.look_again(None)
        self._tell((*self.client.passage.clear(t_ns), *self.broker.passage.clear(t_ns)))

    def _tell(self, rows: Iterable[Frame]) -> None:
        # An exception would make asyncio end the connection, so none may leave this method.
        try:
            for row in rows:
                self._emit(row)
        except Exception as error:
            self._failed(error)
