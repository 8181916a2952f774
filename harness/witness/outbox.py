"""What one direction of a connection has still to pass on: steps in order, some that wait. No I/O, no clock.

The direction's end (FIN) is a step like the others, so it never overtakes a frame that is held or delayed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from harness.rows import Frame
from harness.witness.actions import Behind, End, Held, Step, Wait, Write


@dataclass(frozen=True, slots=True)
class Told:
    """What stands before has passed: this row may be told."""

    row: Frame


@dataclass(frozen=True, slots=True)
class Finish:
    """The sender will send no more."""


class Outbox:
    """``due_ns`` is when to look again; None while it is empty, or held until a release."""

    def __init__(self) -> None:
        self._steps: deque[Step | Told | Finish] = deque()
        self._behind: list[Write | Told] = []
        self.due_ns: int | None = None
        self.waiting_bytes = 0

    @property
    def is_empty(self) -> bool:
        """True if nothing waits: bytes may pass without going through here."""
        return not self._steps and not self._behind

    def add(self, steps: Iterable[Step], *rows: Frame) -> None:
        """The steps of one frame, behind all that are there; its ``rows`` are told when it has passed."""
        overtaken, self._behind = self._behind, []
        told = [Told(row) for row in rows]
        for step in steps:
            match step:
                case Behind(data):
                    self._behind += [Write(data), *told]
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

    def due(self, now_ns: int, released: Collection[str]) -> Iterator[Write | Told | End | Finish]:
        """What can be carried out now; behind an ``End`` there is nothing."""
        ready_ns = now_ns
        while self._steps:
            step = self._steps[0]
            match step:
                case Wait(delay_ns):
                    if self.due_ns is None:
                        self.due_ns = ready_ns + delay_ns
                    if now_ns < self.due_ns:
                        return
                    ready_ns, self.due_ns = (
                        self.due_ns,
                        None,
                    )  # a chain of waits does not grow by our lateness
                case Held(name):
                    if name not in released:
                        return
                case Write(data):
                    self.waiting_bytes -= len(data)
                    yield step
                case End():
                    self._steps.clear()
                    self._behind.clear()
                    self.waiting_bytes = 0
                    yield step
                    return
                case Told() | Finish():
                    yield step
            self._steps.popleft()
