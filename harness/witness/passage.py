"""One direction of a connection under rules: frames are held back until they are whole, and a rule says what becomes of
each. What may leave is a list of steps for whoever has the sockets, live or simulated. No I/O, no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from harness.model.rows import Fate, Frame
from harness.wire.frames import SIZE_BYTES
from harness.witness.actions import End, Write, spared
from harness.witness.gate import Gate
from harness.witness.outbox import Finish, Outbox, Told
from harness.witness.rewrites import CannotRewrite
from harness.witness.rules import Rules
from harness.witness.transcript import CLIENT, Transcript


class Passage:
    """What comes from ``sender``; ``failed`` gets any error in reading it, and the bytes pass all the same."""

    def __init__(
        self,
        sender: str,
        transcript: Transcript,
        rules: Rules,
        whole_limit_bytes: int,
        failed: Callable[[Exception], None],
    ) -> None:
        self._sender = sender
        self._transcript = transcript
        self._rules = rules
        self._failed = failed
        self._read = transcript.sent if sender == CLIENT else transcript.answered
        self._gate = Gate(whole_limit_bytes)
        self._outbox = Outbox()

    @property
    def is_guarded(self) -> bool:
        """True while something that came has not been passed on: what comes next must not overtake it."""
        return self._gate.is_shut or not self._outbox.is_empty

    @property
    def waiting_bytes(self) -> int:
        """How much waits behind a step; the beginning of a frame is not counted."""
        return self._outbox.waiting_bytes

    @property
    def held_bytes(self) -> int:
        """How much has come of a frame that is not whole yet."""
        return self._gate.held_bytes

    @property
    def due_ns(self) -> int | None:
        """When to look again at what waits; None: not by the clock."""
        return self._outbox.due_ns

    def takes(self, data: bytes) -> bool:
        """True if ``data``, which comes next, is not to pass as it is: shut the gate where the next frame begins."""
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
        """``data`` came at ``t_ns``."""
        for piece, is_frame in self._gate.feed(data):
            self._admit(t_ns, piece, is_frame)

    def give_up(self, t_ns: int) -> None:
        """Nobody can tell frames on this connection any more: what was held as the beginning of one goes on."""
        if rest := self._gate.give_up():
            self._admit(t_ns, rest, is_frame=False)

    def finish(self, t_ns: int) -> None:
        """The sender will send no more; that is passed on as well, behind the rest."""
        if rest := self._gate.rest():
            self._admit(t_ns, rest, is_frame=False)
        self._outbox.finish()

    def due(self, now_ns: int) -> Iterator[Write | Told | End | Finish]:
        """What is to be done now, in order; an ``End`` is the last for now."""
        for step in self._outbox.due(now_ns, self._rules.armed):
            match step:
                case Told(row):
                    yield Told(self._transcript.passed(row, now_ns))
                case _:
                    yield step
        if not self._rules and self._outbox.is_empty:
            self._gate.open()

    def clear(self, t_ns: int) -> list[Frame]:
        """Nothing passes any more: the rows of what still waited."""
        return [self._transcript.stopped(row, t_ns) for row in self._outbox.clear()]

    def _admit(self, t_ns: int, piece: bytes, is_frame: bool) -> None:
        try:
            self._rule_on(t_ns, piece, is_frame)
        except Exception as error:  # what cannot be read passes all the same
            self._failed(error)
            self._outbox.add([Write(piece)])

    def _rule_on(self, t_ns: int, piece: bytes, is_frame: bool) -> None:
        rows = list(self._read(t_ns, piece))
        rule = self._rules.take(rows[0]) if is_frame and len(rows) == 1 else None
        if rule is None:
            self._outbox.add([Write(piece)], *rows)
            return
        row = replace(rows[0], fault=rule.name, fate=rule.action.fate)
        try:
            steps = rule.action.steps(piece, row)
        except CannotRewrite as why:
            self._outbox.add([Write(piece)], spared(row, str(why)))
            return
        match row.fate, steps:
            case _, [Write(data)] if data == piece:
                row = spared(row, "it passed as it came")
            case Fate.CHANGED, [Write(data)]:
                row = self._transcript.changed(row, data[SIZE_BYTES:])
        self._outbox.add(steps, row)
