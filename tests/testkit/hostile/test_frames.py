"""The generator of hostile frames is reproducible and produces every kind of damage."""

from __future__ import annotations

from collections import Counter

import pytest

from harness.model.dice import Dice
from harness.wire.messages import decode_request, decode_response
from harness.wire.records import Codec
from testkit.hostile import (
    BREAKS_FRAMING,
    KEEPS_FRAMING,
    WOUNDS,
    HostileFrame,
    hostile_frame,
    real_frame,
    trickle,
    wounded,
)

pytestmark = pytest.mark.long("thousands of hostile frames")


def some(seed: int, count: int = 400) -> list[HostileFrame]:
    dice = Dice(seed, "test")
    return [hostile_frame(dice) for _ in range(count)]


def test_seed_determines_the_frames() -> None:
    assert some(1) == some(1)
    assert some(1) != some(2)


def test_every_wound_is_drawn_and_most_frames_are_damaged() -> None:
    frames = some(3)
    counted = Counter(frame.wound for frame in frames)
    assert set(counted) == set(WOUNDS)
    assert sum(frame.data != frame.real.data for frame in frames) > 0.85 * len(frames)


def test_real_frame_can_be_decoded() -> None:
    dice = Dice(4, "test")
    for _ in range(200):
        real = real_frame(dice)
        payload = real.data[4:]
        assert len(payload) == int.from_bytes(real.data[:4])
        if real.kind == "request":
            header, message = decode_request(payload)
            assert (header.api_key, header.api_version) == (real.api_key, real.api_version)
        else:
            _, message = decode_response(payload, real.api_key, real.api_version)
        assert message.__api_key__ == real.api_key


@pytest.mark.parametrize("wound", sorted(set(KEEPS_FRAMING)))
def test_wounds_that_keep_framing_have_a_valid_size(wound: str) -> None:
    dice = Dice(5, wound)
    for _ in range(30):
        _, data = wounded(dice, real_frame(dice).data, (wound,))
        assert int.from_bytes(data[:4], signed=True) == len(data) - 4


@pytest.mark.parametrize("wound", BREAKS_FRAMING)
def test_wounds_that_break_framing_have_an_invalid_size(wound: str) -> None:
    dice = Dice(6, wound)
    for _ in range(30):
        real = real_frame(dice).data
        _, data = wounded(dice, real, (wound,))
        assert len(data) < 4 or int.from_bytes(data[:4], signed=True) != len(data) - 4


def test_trickle_is_never_complete() -> None:
    data = b"\0\0\0\4abcd"
    pieces = list(trickle(data))
    assert b"".join(pieces) == data[:-1]
    assert {len(piece) for piece in pieces} == {1}


def test_every_codec_has_a_bomb(hostile_batches: list[bytes]) -> None:
    codecs = {
        Codec(batch[22] & 7) for batch in hostile_batches if len(batch) > 61 and not batch[22] & ~7 & 0xFF
    }
    assert codecs >= set(Codec)
