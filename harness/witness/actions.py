"""The possible actions on a single frame, as steps: write bytes, wait, hold the frame, end the connection.

An :class:`Action` turns a whole frame into steps. It is pure: the relay executes the steps in order, and later bytes of
the same direction wait for them. A frame that is held back is passed on at the latest when its rule is disarmed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from harness.model.rows import Disposition, Frame
from harness.model.units import NS_PER_MS
from harness.wire.frames import SIZE_BYTES, frame
from harness.witness.rewrites import Change, rewrite


@dataclass(frozen=True, slots=True)
class Write:
    """Pass these bytes on."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait for ``delay_ns`` nanoseconds before the next step."""

    delay_ns: int


@dataclass(frozen=True, slots=True)
class Held:
    """Wait until the rule of that name is disarmed."""

    rule: str | None


@dataclass(frozen=True, slots=True)
class Behind:
    """Pass these bytes on after the direction's next frame, or at its end, or when the rule is disarmed."""

    data: bytes
    rule: str | None


@dataclass(frozen=True, slots=True)
class End:
    """End the connection on both sides, by RST or by FIN. Nothing more of it is passed on."""

    reset: bool = False


Step = Write | Wait | Held | Behind | End


@dataclass(frozen=True, slots=True)
class Action:
    """A function that turns a whole frame (including its size field) and its row into steps.

    ``fault`` in the row is the rule's name. ``steps`` raises CannotRewrite if the frame has to pass unchanged.
    """

    disposition: Disposition
    steps: Callable[[bytes, Frame], list[Step]]


def spared(row: Frame, why: str) -> Frame:
    """Return the row of a frame that a rule matched but did not affect, without the fault."""
    note = "; ".join(filter(None, (row.note, f"not changed: {why}")))
    return replace(row, fault=None, disposition=None, note=note)


DROP: Final = Action(Disposition.BLOCKED, lambda data, _: [])
#: Pass the frame on twice.
TWICE: Final = Action(Disposition.ANNOTATED, lambda data, _: [Write(data), Write(data)])
#: Swap the frame with the one after it.
SWAP: Final = Action(Disposition.DELAYED, lambda data, row: [Behind(data, row.fault)])
#: Hold the frame and everything after it until the rule is disarmed.
HOLD: Final = Action(Disposition.DELAYED, lambda data, row: [Held(row.fault), Write(data)])


def drop_and_end(*, reset: bool) -> Action:
    """Return the action that discards the frame and ends the connection."""
    return Action(Disposition.BLOCKED, lambda data, _: [End(reset)])


def end_behind(*, reset: bool) -> Action:
    """Return the action that passes the whole frame on and then ends the connection."""
    return Action(Disposition.ANNOTATED, lambda data, _: [Write(data), End(reset)])


def delay(delay_ms: int) -> Action:
    """Return the action that delays the frame and everything after it."""
    return Action(Disposition.DELAYED, lambda data, _: [Wait(delay_ms * NS_PER_MS), Write(data)])


def tear(at_byte: int, *, reset: bool) -> Action:
    """Return the action that passes ``at_byte`` bytes on (at most all but one) and then ends the connection."""
    return Action(
        Disposition.BLOCKED, lambda data, _: [Write(data[: min(at_byte, len(data) - 1)]), End(reset)]
    )


def slices(size_bytes: int, gap_ns: int) -> Action:
    """Return the action that passes the frame on in pieces, with a pause between them."""

    def sliced(data: bytes, _: Frame) -> list[Step]:
        steps: list[Step] = []
        for at in range(0, len(data), size_bytes):
            steps += [Wait(gap_ns), Write(data[at : at + size_bytes])]
        return steps[1:]  # the frame has passed with its last piece, not one gap later

    return Action(Disposition.DELAYED, sliced)


def rewritten(change: Callable[[bytes, Frame], bytes]) -> Action:
    """Return the action that passes another frame on instead.

    ``change`` receives the payload and the row, and returns the new payload or raises CannotRewrite.
    """

    def steps(data: bytes, row: Frame) -> list[Step]:
        return [Write(frame(change(data[SIZE_BYTES:], row)))]

    return Action(Disposition.CHANGED, steps)


def changed(change: Change) -> Action:
    """Return the action that passes a changed message on instead, in the same version."""
    return rewritten(lambda payload, row: rewrite(payload, row.api_key or 0, row.api_version or 0, change))
