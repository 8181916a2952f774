"""The behaviours that the check of this package judges."""

from __future__ import annotations

from suites.requirements.behaviour import Behaviour, must

RIGHT = "LKP-CNT-01"
READABLE = "LKP-CNT-02"


def behaviours() -> dict[str, Behaviour]:
    """Return every behaviour by its id."""
    source = "the example workload lookup"
    return {
        RIGHT: must(RIGHT, "A lookup that succeeds returns the number of partitions of the topic.", source),
        READABLE: must(READABLE, "A lookup that succeeds returns a decimal number.", source),
    }
