"""Looking up while nothing happens, and while answers are late: 60 lookups over three seconds, of three partitions."""

from __future__ import annotations

from kafka_trial.api import AtTime, Consequence, Dice, Evidence, FaultSpec, Guarantee, Scenario, Workload

LOAD = Workload(
    records=60, records_per_command=5, interval_ms=250, partitions=3, keys=0, value_bytes=0, kind="lookup"
)


def _answered(evidence: Evidence) -> Consequence:
    """Lookups were answered."""
    return Consequence(len(evidence.acknowledged), "lookups were answered")


def _calm(_: Dice) -> tuple[FaultSpec, ...]:
    return ()


def _late(dice: Dice) -> tuple[FaultSpec, ...]:
    params = {"delay_ms": dice.between(100, 300)}
    return (FaultSpec("late_answers", AtTime(dice.between(300, 800)), 1_500, params),)


CALM = Scenario(
    name="lookup/calm",
    summary="No fault at all.",
    schedule=_calm,
    consequence=_answered,
    exercises=("LKP-CNT-01", "LKP-CNT-02"),
    guarantees=(Guarantee.AT_LEAST_ONCE,),
    workload=LOAD,
)
LATE_ANSWERS = Scenario(
    name="lookup/late-answers",
    summary="Every answer is late for a while.",
    schedule=_late,
    consequence=_answered,
    exercises=("LKP-CNT-01", "LKP-CNT-02"),
    guarantees=(Guarantee.AT_LEAST_ONCE,),
    workload=LOAD,
)
