"""The behaviours that the check of this package judges."""

from __future__ import annotations

from kafka_trial.api import Behaviour, Level

RIGHT = "LKP-CNT-01"
READABLE = "LKP-CNT-02"
SOURCE = "the example workload lookup"


def behaviours() -> dict[str, Behaviour]:
    """Return every behaviour by its id."""
    must = {
        RIGHT: "A lookup that succeeds returns the number of partitions of the topic.",
        READABLE: "A lookup that succeeds returns a decimal number.",
    }
    return {id: Behaviour(id, Level.MUST, statement, SOURCE) for id, statement in must.items()}
