"""A lane that is handed on: nothing of the trial before may be on it."""

from __future__ import annotations

import asyncio

import pytest

from harness.errors import EnvironmentProblem
from harness.lane import Lane
from harness.spec import FrameMatch
from harness.witness import WitnessLane
from harness.witness.actions import DROP


def test_a_rule_that_was_left_at_the_witness_is_told() -> None:
    witness = WitnessLane(3)
    lane = Lane(3, (), witness)
    asyncio.run(lane.assert_pristine())
    witness.arm("dropped_frame-1", FrameMatch("Produce"), DROP)
    with pytest.raises(
        EnvironmentProblem, match="lane 3: the witness still acts on frames, by dropped_frame-1"
    ):
        asyncio.run(lane.assert_pristine())
    witness.disarm("dropped_frame-1")
    asyncio.run(lane.assert_pristine())
