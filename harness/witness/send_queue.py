"""The steps that one direction of a connection has still to execute, in order. Some wait. No I/O, no clock.

The direction's end (FIN) is a step like the others, so it never overtakes a frame that is held or delayed. A frame's
row is emitted only when its step is reached. If the connection ends before that, the row is returned by
:meth:`SendQueue.clear`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from harness.model.rows import Frame
from harness.witness.actions import Behind, End, Held, Step, Wait, Write, spared


@dataclass(frozen=True, slots=True)
class RowRecorded:
    """All steps before this one are done, so the row can be emitted."""

    row: Frame


@dataclass(frozen=True, slots=True)
class Finish:
    """The sender has ended its direction."""


@dataclass(frozen=True, slots=True)
class _Alone:
    """Like :class:`RowRecorded`, for a frame that was to be overtaken but was not.

    If the frame passes, the rule has changed nothing.
    """

    row: Frame


class SendQueue:
    """A queue of steps.

    ``due_ns`` is the time of the next step that waits. It is None while the queue is empty, or held until a rule is
    disarmed.
    """

    def __init__(self) -> None:
        self._steps: deque[Step | RowRecorded | _Alone | Finish] = deque()
        self._behind: list[Write | RowRecorded] = []
        self._behind_by: str | None = None
        self.due_ns: int | None = None
        self.waiting_bytes = 0

    @property
    def is_empty(self) -> bool:
        """True if nothing waits, so that bytes may be passed on directly."""
        return not self._steps and not self._behind

    def add(self, steps: Iterable[Step], *rows: Frame) -> None:
        """Append the steps of one frame. Its ``rows`` are emitted once it has passed."""
        steps = list(steps)
        overtaken: list[Write | RowRecorded | _Alone] = [*self._behind]
        self._behind = []
        # Nothing passes after an End, so the row of an overtaken frame needs no note.
        if not any(isinstance(step, Write | End) for step in steps):
            overtaken = [_Alone(step.row) if isinstance(step, RowRecorded) else step for step in overtaken]
        told = [RowRecorded(row) for row in rows]
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
        """Append the sender's end. A frame that waited for a next frame is passed on first."""
        self.add(())
        self._steps.append(Finish())

    def clear(self) -> list[Frame]:
        """Discard all steps, and return the rows of the frames that still waited."""
        left = [step.row for step in (*self._steps, *self._behind) if isinstance(step, RowRecorded | _Alone)]
        self._steps.clear()
        self._behind.clear()
        self.due_ns, self.waiting_bytes = None, 0
        return left

    def due(self, now_ns: int, armed: Collection[str]) -> Iterator[Write | RowRecorded | End | Finish]:
        """Yield the steps that can be executed now, while the rules ``armed`` are in force.

        An ``End`` is the last step of a call.
        """
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
                    # Measured from the time that was due, so that delays do not add up over a chain of waits.
                    ready_ns, self.due_ns = self.due_ns, None
                case Held(rule):
                    if rule in armed:
                        return
            step = self._steps.popleft()
            if isinstance(step, Write):
                self.waiting_bytes -= len(step.data)
            if isinstance(step, _Alone):
                yield RowRecorded(spared(step.row, "no later frame overtook it"))
            elif isinstance(step, Write | RowRecorded | End | Finish):
                yield step
            if isinstance(step, End):
                return
