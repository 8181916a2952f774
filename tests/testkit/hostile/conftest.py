"""Hostile records by themselves."""

from __future__ import annotations

import pytest

from harness.model.dice import Dice
from testkit.hostile import hostile_records


@pytest.fixture(scope="session")
def hostile_batches() -> list[bytes]:
    """What a ``records`` field may hold, many times."""
    dice = Dice(1, "records")
    return [hostile_records(dice) for _ in range(1_500)]
