"""What all generated scenarios draw besides their faults: the number of faults, the records, the batching."""

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
#: The load phase of a schedule that is short enough for live mode.
SHORT_LOAD_MS: Final = 6_000
#: How many commands send the records. Each number divides the load phase.
CHUNKS = (4, 5)
RECORDS_PER_TRIAL = (100, 105)
#: The behaviours that any fault may concern.
ANYTHING: Final = (*AGAIN, "PRD-SND-14", "PRD-EXP-01", "PRD-CLS-01", "PRD-CLS-03")


def any_workload(load_ms: int) -> Callable[[Dice], Workload]:
    """Return a function that draws about a hundred records of any shape over the load phase.

    The load is small enough for thousands of trials.
    """

    def drawn(dice: Dice) -> Workload:
        chunks = dice.choice(CHUNKS)
        chunk = -(-dice.between(*RECORDS_PER_TRIAL) // chunks)
        return Workload(
            records=chunk * chunks,
            records_per_command=chunk,
            interval_ms=load_ms // chunks,
            partitions=dice.between(1, 3),
            keys=dice.choice((0, 1, 7, 40)),
            value_bytes=dice.choice((64, 100, 160)),
        )

    return drawn


def any_batching(dice: Dice) -> Config:
    """Draw how many records are batched together, and how many requests are in flight."""
    return {
        "batch.size": dice.choice((1_024, 4_096, 16_384, 16_384)),
        "linger.ms": dice.between(0, 20),
        "max.in.flight.requests.per.connection": dice.between(1, 5),
    }
