"""The table of packed evidence that this workload fills: one row per lookup."""

from __future__ import annotations

from kafka_trial.api import ColumnData, PackedTrial, Table
from kafka_trial_examples.lookup.accounting import expected, number


def _lookups(trial: PackedTrial) -> ColumnData:
    done = list(trial.evidence.operations.values())
    names = ("n", "invoke_ns", "complete_ns", "value", "error")
    return {name: [getattr(each, name) for each in done] for name in names} | {
        "outcome": [each.outcome.value for each in done],
        "partitions": [number(each) for each in done],
        "expected": [expected(trial.evidence)] * len(done),
    }


#: ``value`` is the answer as the client reported it, ``partitions`` the number that it is, or null.
LOOKUPS = Table(
    {
        "trial": "string",
        "n": "long",
        "invoke_ns": "long",
        "complete_ns": "long?",
        "outcome": "string",
        "value": "string?",
        "partitions": "long?",
        "expected": "long",
        "error": "string?",
    },
    _lookups,
)
