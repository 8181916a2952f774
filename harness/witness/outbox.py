"""What one direction of a connection has still to pass on: steps in order, some that wait. No I/O, no clock.

The direction's end (FIN) is a step like the others, so it never overtakes a frame that is held or delayed. What a
frame's row says has not happened before its step comes up: if the connection ends first, the row is given back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from harness.model.rows import Frame
from harness.witness.actions import Behind, End, Held, Step, Wait, Write, spared


@dataclass(frozen=True, slots=True)
class Told:
    """What stands before has been carried out: this row may be told."""

    row: Frame


@dataclass(frozen=True, slots=True)
class Finish:
    """The sender will send no more."""


@dataclass(frozen=True, slots=True)
class _Alone:
    """As :class:`Told`, of a frame that was to be overtaken, and was not: if it passes, the rule changed nothing."""

    row: Frame


class Outbox:
    """``due_ns`` is when to look again; None while it is empty, or held until a rule is disarmed."""

    def __init__(self) -> None:
        self._steps: deque[Step | Told | _Alone | Finish] = deque()
        self._behind: list[Write | Told] = []
        self._behind_by: str | None = None
        self.due_ns: int | None = None
        self.waiting_bytes = 0

    @property
    def is_empty(self) -> bool:
        """True if nothing waits: bytes may pass without going through here."""
        return not self._steps and not self._behind

    def add(self, steps: Iterable[Step], *rows: Frame) -> None:
        """The steps of one frame, behind all that are there; its ``rows`` are told when it has passed."""
        steps = list(steps)
        overtaken: list[Write | Told | _Alone] = [*self._behind]
        self._behind = []
        # Behind an End nothing passes, so nothing has to be said of it.
        if not any(isinstance(step, Write | End) for step in steps):
            overtaken = [_Alone(step.row) if isinstance(step, Told) else step for step in overtaken]
        told = [Told(row) for row in rows]
        for step in steps:
            match step:
                case Behind(data, rule):
                    self._behind += [Write(data), *told]
                    self._behind_by = rule
                    told = []
                case End():
                    self._steps += [*told, step]
                    told = []
                case _:
                    self._steps.append(step)
            self.waiting_bytes += len(step.data) if isinstance(step, Write | Behind) else 0
        self._steps += [*told, *overtaken]

    def finish(self) -> None:
        """The sender has ended; what was to go behind a next frame goes now."""
        self.add(())
        self._steps.append(Finish())

    def clear(self) -> list[Frame]:
        """Nothing passes any more: the rows of what still waited."""
        left = [step.row for step in (*self._steps, *self._behind) if isinstance(step, Told | _Alone)]
        self._steps.clear()
        self._behind.clear()
        self.due_ns, self.waiting_bytes = None, 0
        return left

    def due(self, now_ns: int, armed: Collection[str]) -> Iterator[Write | Told | End | Finish]:
        """What can be carried out now, while those rules are ``armed``; an ``End`` is the last for now."""
        if self._behind and self._behind_by not in armed:
            self.add(())
        ready_ns = now_ns
        while self._steps:
            match self._steps[0]:
                case Wait(delay_ns):
                    if self.due_ns is None:
                        self.due_ns = ready_ns + delay_ns
                    if now_ns < self.due_ns:
                        return
                    # A chain of waits does not grow by our lateness.
                    ready_ns, self.due_ns = self.due_ns, None
                case Held(rule):
                    if rule in armed:
                        return
            step = self._steps.popleft()
            if isinstance(step, Write):
                self.waiting_bytes -= len(step.data)
            if isinstance(step, _Alone):
                yield Told(spared(step.row, "no other came to overtake it"))
            elif isinstance(step, Write | Told | End | Finish):
                yield step
            if isinstance(step, End):
                return
