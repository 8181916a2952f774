"""Hostile records without a frame around them."""

from __future__ import annotations

import pytest

from harness.model.dice import Dice
from testkit.hostile import hostile_records


@pytest.fixture(scope="session")
def hostile_batches() -> list[bytes]:
    """Return many hostile values of a ``records`` field."""
    dice = Dice(1, "records")
    return [hostile_records(dice) for _ in range(1_500)]
