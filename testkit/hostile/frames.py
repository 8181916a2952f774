"""Wounds: the ways to damage a whole real frame, including its size field."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from harness.model.dice import Dice
from harness.wire.frames import SIZE_BYTES, frame
from testkit.hostile.messages import RealFrame, real_frame

Wound = Callable[[Dice, bytes], bytes]

_HUGE: Final = (1 << 31) - 1
#: False lengths and counts, in all widths that the protocol has: int16, int32, varint.
_LIES: Final = (
    *((value & 0xFFFF).to_bytes(2) for value in (-1, -2, -(1 << 15), (1 << 15) - 1)),
    *((value & 0xFFFF_FFFF).to_bytes(4) for value in (-1, -2, -(1 << 31), 1 << 20, _HUGE)),
    *(b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x7f", b"\x80\x80\x80\x80\x80", b"\xff" * 12),
)


class HostileFrame(NamedTuple):
    """A damaged frame. ``data`` are the bytes to send, ``real`` is the original."""

    wound: str
    real: RealFrame
    data: bytes

    @property
    def payload(self) -> bytes:
        """The bytes after the size field."""
        return self.data[SIZE_BYTES:]


def hostile_frame(dice: Dice, real: RealFrame | None = None) -> HostileFrame:
    """Return ``real``, or a frame that is drawn, with a wound."""
    real = real or real_frame(dice)
    wound, data = wounded(dice, real.data)
    return HostileFrame(wound, real, data)


def wounded(dice: Dice, data: bytes, wounds: Sequence[str] = ()) -> tuple[str, bytes]:
    """Return the name of one of ``wounds`` (by default of all) and the whole frame ``data`` with that wound."""
    wound = dice.choice(wounds or WOUNDS)
    return wound, _BY_NAME[wound](dice, data)


def trickle(data: bytes) -> Iterator[bytes]:
    """Yield a frame byte by byte, without its last byte."""
    return (data[at : at + 1] for at in range(len(data) - 1))


def _with_size(size: int, payload: bytes) -> bytes:
    return size.to_bytes(SIZE_BYTES, signed=True) + payload


def _garbage(dice: Dice, size: int) -> bytes:
    return b"".join(dice.between(0, (1 << 64) - 1).to_bytes(8) for _ in range(-(-size // 8)))[:size]


def _negative_size(dice: Dice, data: bytes) -> bytes:
    return _with_size(dice.choice((-1, -2, -_HUGE - 1)), data[SIZE_BYTES:])


def _tiny_size(dice: Dice, data: bytes) -> bytes:
    return _with_size(dice.between(0, 3), data[SIZE_BYTES:])


def _huge_size(dice: Dice, data: bytes) -> bytes:
    return _with_size(dice.choice((1 << 24, 100 << 20, 300 << 20, _HUGE)), data[SIZE_BYTES:])


def _size_off_by_one(dice: Dice, data: bytes) -> bytes:
    return _with_size(len(data) - SIZE_BYTES + dice.choice((-1, 1)), data[SIZE_BYTES:])


def _torn(dice: Dice, data: bytes) -> bytes:
    return data[: dice.between(0, len(data) - 1)]


def _cut(dice: Dice, data: bytes) -> bytes:
    return frame(data[SIZE_BYTES : dice.between(SIZE_BYTES, len(data) - 1)])


def _longer(dice: Dice, data: bytes) -> bytes:
    return frame(data[SIZE_BYTES:], _garbage(dice, dice.choice((1, 4, 100))))


def _all_garbage(dice: Dice, data: bytes) -> bytes:
    return frame(_garbage(dice, dice.between(0, 64)))


def _garbage_body(dice: Dice, data: bytes) -> bytes:
    """Replace the bytes after a response's correlation id, or after a request's key and version or whole header."""
    return frame(
        data[SIZE_BYTES : SIZE_BYTES + dice.choice((4, 8, 11))], _garbage(dice, dice.between(0, 200))
    )


def _other_correlation_id(dice: Dice, data: bytes) -> bytes:
    return frame(dice.between(0, (1 << 32) - 1).to_bytes(4), data[SIZE_BYTES + 4 :])


def _lying(dice: Dice, data: bytes) -> bytes:
    """Overwrite a length, a count or any other bytes in place. The bytes around them are not moved."""
    lie = dice.choice(_LIES)
    at = dice.between(SIZE_BYTES, len(data) - 1)
    return frame(data[SIZE_BYTES:at], lie, data[at + len(lie) :])


def _inserted(dice: Dice, data: bytes) -> bytes:
    at = dice.between(SIZE_BYTES, len(data))
    return frame(data[SIZE_BYTES:at], dice.choice(_LIES), data[at:])


def _changed(dice: Dice, data: bytes) -> bytes:
    payload = bytearray(data[SIZE_BYTES:])
    for _ in range(dice.between(1, 4)):
        payload[dice.between(0, len(payload) - 1)] = dice.between(0, 255)
    return frame(bytes(payload))


def _unhurt(_: Dice, data: bytes) -> bytes:
    """Return the frame unchanged. Its random versions, ids and counts may be hostile enough."""
    return data


_BY_NAME: Final[Mapping[str, Wound]] = {
    "negative size": _negative_size,
    "tiny size": _tiny_size,
    "huge size": _huge_size,
    "size off by one": _size_off_by_one,
    "torn": _torn,
    "cut": _cut,
    "longer": _longer,
    "garbage": _all_garbage,
    "garbage body": _garbage_body,
    "other correlation id": _other_correlation_id,
    "lying": _lying,
    "inserted": _inserted,
    "changed": _changed,
    "unhurt": _unhurt,
}
#: After a frame with one of these, the start of the next frame is unknown.
BREAKS_FRAMING: Final = ("negative size", "tiny size", "huge size", "size off by one", "torn")
#: Lies and changes get the furthest in a reader, so they are drawn more often.
KEEPS_FRAMING: Final = (
    *(name for name in _BY_NAME if name not in BREAKS_FRAMING),
    *("lying", "lying", "lying", "changed", "changed"),
)
WOUNDS: Final = (*BREAKS_FRAMING, *KEEPS_FRAMING)
