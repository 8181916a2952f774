"""What may be done with one frame at the witness, as steps: write these bytes, wait, be held, end the connection.

An :class:`Action` makes steps from a whole frame. It is pure: the relay carries the steps out, in order, and whatever
comes behind the frame in its direction waits for them. A frame that is kept goes on at the latest when the rule that
keeps it is disarmed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from harness.model.rows import Fate, Frame
from harness.model.units import NS_PER_MS
from harness.wire.frames import SIZE_BYTES, frame
from harness.witness.rewrites import Change, rewrite


@dataclass(frozen=True, slots=True)
class Write:
    """Pass these bytes on."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Wait:
    """Go on so many nanoseconds later."""

    delay_ns: int


@dataclass(frozen=True, slots=True)
class Held:
    """Go on when the rule of that name is disarmed."""

    rule: str | None


@dataclass(frozen=True, slots=True)
class Behind:
    """Pass these bytes on behind the next frame of the direction, or at its end, or when that rule is disarmed."""

    data: bytes
    rule: str | None


@dataclass(frozen=True, slots=True)
class End:
    """End the connection on both sides, by RST or by FIN; nothing of it is passed on any more."""

    reset: bool = False


Step = Write | Wait | Held | Behind | End


@dataclass(frozen=True, slots=True)
class Action:
    """``steps`` of a whole frame, its size field included, and its row, in which ``fault`` names the rule.

    CannotRewrite where it has to pass as it is.
    """

    fate: Fate
    steps: Callable[[bytes, Frame], list[Step]]


def spared(row: Frame, why: str) -> Frame:
    """The row of a frame that a rule took and nothing became of: no fault has acted on it."""
    note = "; ".join(filter(None, (row.note, f"not changed: {why}")))
    return replace(row, fault=None, fate=None, note=note)


DROP: Final = Action(Fate.STOPPED, lambda data, _: [])
#: The frame is passed on two times.
TWICE: Final = Action(Fate.MARKED, lambda data, _: [Write(data), Write(data)])
#: The frame changes places with the one that follows it.
SWAP: Final = Action(Fate.LATE, lambda data, row: [Behind(data, row.fault)])
#: The frame, and what is behind it, is passed on when the rule is disarmed.
HOLD: Final = Action(Fate.LATE, lambda data, row: [Held(row.fault), Write(data)])


def drop_and_end(*, reset: bool) -> Action:
    """The frame is not passed on, and the connection ends."""
    return Action(Fate.STOPPED, lambda data, _: [End(reset)])


def end_behind(*, reset: bool) -> Action:
    """The frame is passed on whole, and the connection ends."""
    return Action(Fate.MARKED, lambda data, _: [Write(data), End(reset)])


def delay(delay_ms: int) -> Action:
    """The frame, and what is behind it, is passed on later."""
    return Action(Fate.LATE, lambda data, _: [Wait(delay_ms * NS_PER_MS), Write(data)])


def tear(at_byte: int, *, reset: bool) -> Action:
    """So many bytes of the frame are passed on, at most all but one, and the connection ends."""
    return Action(Fate.STOPPED, lambda data, _: [Write(data[: min(at_byte, len(data) - 1)]), End(reset)])


def slices(size_bytes: int, gap_ns: int) -> Action:
    """The frame is passed on in pieces, one after the other."""

    def sliced(data: bytes, _: Frame) -> list[Step]:
        steps: list[Step] = []
        for at in range(0, len(data), size_bytes):
            steps += [Wait(gap_ns), Write(data[at : at + size_bytes])]
        return steps[1:]  # it has passed with its last piece, not a gap later

    return Action(Fate.LATE, sliced)


def rewritten(change: Callable[[bytes, Frame], bytes]) -> Action:
    """Another frame is passed on in its place; ``change`` gets the payload and gives one, or raises CannotRewrite."""

    def steps(data: bytes, row: Frame) -> list[Step]:
        return [Write(frame(change(data[SIZE_BYTES:], row)))]

    return Action(Fate.CHANGED, steps)


def changed(change: Change) -> Action:
    """Another message is passed on in its place, in the same version."""
    return rewritten(lambda payload, row: rewrite(payload, row.api_key or 0, row.api_version or 0, change))
