"""What all generated scenarios draw besides their faults: how many of them, the records, the batching."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from harness.model.dice import Dice
from harness.model.spec import Workload
from harness.model.verdicts import Guarantee
from harness.plugins.scenario import Config
from suites.scenarios.situation import AGAIN

GUARANTEES: Final = (Guarantee.AT_MOST_ONCE, Guarantee.AT_LEAST_ONCE, Guarantee.IDEMPOTENT)
#: How many faults a schedule has: mostly two, sometimes many.
FAULTS: Final = (2, 2, 2, 2, 3, 6)
#: The load phase of a schedule that is short enough for the live world.
SHORT_LOAD_MS: Final = 6_000
#: In how many commands the records go out; each divides the load phase.
CHUNKS = (4, 5)
RECORDS_PER_TRIAL = (100, 105)
#: What any fault at all may be about.
ANYTHING: Final = (*AGAIN, "PRD-SND-14", "PRD-EXP-01", "PRD-CLS-01", "PRD-CLS-03")


def any_workload(load_ms: int) -> Callable[[Dice], Workload]:
    """Draws some hundred records over that load phase: few enough for thousands of trials, of any shape."""

    def drawn(dice: Dice) -> Workload:
        chunks = dice.choice(CHUNKS)
        chunk = -(-dice.between(*RECORDS_PER_TRIAL) // chunks)
        return Workload(
            records=chunk * chunks,
            chunk=chunk,
            interval_ms=load_ms // chunks,
            partitions=dice.between(1, 3),
            keys=dice.choice((0, 1, 7, 40)),
            value_bytes=dice.choice((64, 100, 160)),
        )

    return drawn


def any_batching(dice: Dice) -> Config:
    """How many records go together, and how many requests are under way."""
    return {
        "batch.size": dice.choice((1_024, 4_096, 16_384, 16_384)),
        "linger.ms": dice.between(0, 20),
        "max.in.flight.requests.per.connection": dice.between(1, 5),
    }
