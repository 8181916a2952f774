"""One direction of a connection under rules.

Frames are held back until they are complete, and a rule decides about each. The output is a list of steps for the owner
of the sockets, live or simulated. No I/O, no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from harness.model.rows import Disposition, Frame
from harness.wire.frames import SIZE_BYTES
from harness.witness.actions import End, Write, spared
from harness.witness.frame_buffer import FrameBuffer
from harness.witness.rewrites import CannotRewrite
from harness.witness.rules import FrameRules
from harness.witness.send_queue import Finish, RowRecorded, SendQueue
from harness.witness.transcript import CLIENT, Transcript


class DirectionPipeline:
    """The direction that starts at ``sender``.

    ``failed`` is called with any error in reading the bytes. They are passed on nevertheless.
    """

    def __init__(
        self,
        sender: str,
        transcript: Transcript,
        rules: FrameRules,
        whole_limit_bytes: int,
        failed: Callable[[Exception], None],
    ) -> None:
        self._sender = sender
        self._transcript = transcript
        self._rules = rules
        self._failed = failed
        self._read = transcript.sent if sender == CLIENT else transcript.answered
        self._gate = FrameBuffer(whole_limit_bytes)
        self._outbox = SendQueue()

    @property
    def is_guarded(self) -> bool:
        """True while bytes wait to be passed on, which later bytes must not overtake."""
        return self._gate.is_shut or not self._outbox.is_empty

    @property
    def waiting_bytes(self) -> int:
        """The number of bytes that wait in steps. The beginning of an incomplete frame is not counted."""
        return self._outbox.waiting_bytes

    @property
    def held_bytes(self) -> int:
        """The number of bytes received of an incomplete frame."""
        return self._gate.held_bytes

    @property
    def due_ns(self) -> int | None:
        """The time of the next step that waits, or None if no step waits for a time."""
        return self._outbox.due_ns

    def takes(self, data: bytes) -> bool:
        """Return True if ``data``, the next bytes, must go through :meth:`feed`.

        If so, frames are held back from the next frame on.
        """
        if self.is_guarded:
            return True
        if not self._rules or self._transcript.is_opaque:
            return False
        rest_bytes = self._transcript.rest_bytes(self._sender, data)
        if rest_bytes is None:
            return False
        self._gate.shut(rest_bytes)
        return True

    def feed(self, t_ns: int, data: bytes) -> None:
        """Process ``data``, which arrived at ``t_ns``."""
        for piece, is_frame in self._gate.feed(data):
            self._admit(t_ns, piece, is_frame)

    def give_up(self, t_ns: int) -> None:
        """Stop looking for frames on this connection. The buffered beginning of a frame is passed on."""
        if rest := self._gate.give_up():
            self._admit(t_ns, rest, is_frame=False)

    def finish(self, t_ns: int) -> None:
        """Append the sender's end after all other steps."""
        if rest := self._gate.rest():
            self._admit(t_ns, rest, is_frame=False)
        self._outbox.finish()

    def due(self, now_ns: int) -> Iterator[Write | RowRecorded | End | Finish]:
        """Yield the steps to execute now, in order. An ``End`` is yielded last."""
        for step in self._outbox.due(now_ns, self._rules.armed):
            match step:
                case RowRecorded(row):
                    yield RowRecorded(self._transcript.passed(row, now_ns))
                case _:
                    yield step
        if not self._rules and self._outbox.is_empty:
            self._gate.open()

    def clear(self, t_ns: int) -> list[Frame]:
        """Discard all steps, and return the rows of the frames that still waited, as stopped."""
        return [self._transcript.stopped(row, t_ns) for row in self._outbox.clear()]

    def _admit(self, t_ns: int, piece: bytes, is_frame: bool) -> None:
        try:
            self._rule_on(t_ns, piece, is_frame)
        except Exception as error:  # bytes that cannot be read are passed on nevertheless
            self._failed(error)
            self._outbox.add([Write(piece)])

    def _rule_on(self, t_ns: int, piece: bytes, is_frame: bool) -> None:
        rows = list(self._read(t_ns, piece))
        rule = self._rules.take(rows[0]) if is_frame and len(rows) == 1 else None
        if rule is None:
            self._outbox.add([Write(piece)], *rows)
            return
        row = replace(rows[0], fault=rule.name, disposition=rule.action.disposition)
        try:
            steps = rule.action.steps(piece, row)
        except CannotRewrite as why:
            self._outbox.add([Write(piece)], spared(row, str(why)))
            return
        match row.disposition, steps:
            case _, [Write(data)] if data == piece:
                row = spared(row, "it was passed on unchanged")
            case Disposition.CHANGED, [Write(data)]:
                row = self._transcript.changed(row, data[SIZE_BYTES:])
        self._outbox.add(steps, row)
