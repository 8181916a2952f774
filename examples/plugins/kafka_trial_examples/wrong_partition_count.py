"""# wrong-partition-count

## What it does

Looks for lookups that the client reported as done with another number of partitions than the topic has.

## Why it is bad

An application that spreads its work over the partitions skips some, or asks for some that do not exist.

## How it is judged per guarantee

- **at-least-once**: forbidden. One is enough.

A lookup without a result, or with an error, is not judged.

## What it needs

The client's history. The topic keeps its number of partitions: after a fault ``topic_growth`` or ``topic_recreate``,
two answers may be right, and the check is inconclusive.

## References

LKP-CNT-01, LKP-CNT-02.
"""

from __future__ import annotations

from kafka_trial.api import (
    Anomaly,
    Check,
    Evidence,
    Finding,
    Guarantee,
    Inconclusive,
    Level,
    Operation,
    ReasonKind,
    Requirement,
    Sample,
)
from kafka_trial_examples.behaviours import READABLE, RIGHT
from kafka_trial_examples.lookup.accounting import expected, unreadable, wrong

WRONG = Anomaly(
    "wrong-partition-count", "{count:lookup} answered with another number of partitions than {partitions}"
)
UNREADABLE = Anomaly(
    "unreadable-partition-count", "{count:lookup} answered with something that is not a number"
)
GROWN = ReasonKind("topic-changed", "the fault {fault} changes the number of partitions")
CHANGES = ("topic_growth", "topic_recreate")


def run(evidence: Evidence) -> list[Finding]:
    """Return one finding for wrong numbers and one for what is not a number. Inconclusive if the topic changed."""
    for fault in evidence.faults:
        if fault.spec.kind in CHANGES:
            raise Inconclusive(GROWN.reason(fault=fault.spec.kind))
    found = []
    if false := wrong(evidence):
        right = expected(evidence)
        found.append(WRONG.found(len(false), map(_sample, false), RIGHT, partitions=right))
    if odd := unreadable(evidence):
        found.append(UNREADABLE.found(len(odd), map(_sample, odd), READABLE))
    return found


def _sample(operation: Operation) -> Sample:
    return {"n": operation.n, "value": operation.value}


def _answered(evidence: Evidence) -> int:
    return len(evidence.acknowledged)


CHECK = Check(
    name="wrong-partition-count",
    summary="Lookups that returned another number of partitions than the topic has.",
    requirements=(
        Requirement(RIGHT, Level.MUST, arises=_answered),
        Requirement(READABLE, Level.MUST, arises=_answered),
    ),
    guarantees=frozenset({Guarantee.AT_LEAST_ONCE}),
    requires=frozenset({"history"}),
    killed_mutant="one-partition-too-many",
    run=run,
    workloads=frozenset({"lookup"}),
)
