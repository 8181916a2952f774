"""The tables of packed evidence that only this workload fills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from operator import attrgetter
from types import MappingProxyType

from harness.model.anomaly_row import AnomalyRow
from harness.model.load import topic_names
from harness.model.parts import parts
from harness.model.spec import Workload
from harness.plugins.workload import ColumnData, Columns, PackedTrial, Table
from harness.workloads.produce.anomaly_rows import anomaly_rows
from harness.workloads.produce.commands import keys_of

#: The meaning of each count of a verdict, in words.
MEANING: Mapping[str, str] = {
    "sent": "records handed to the client",
    "acked": "reported as written",
    "failed": "reported as certainly not written",
    "unknown": "reported as neither, or never reported",
    "in_log": "data records read back from the topic, whoever wrote them",
    "lost": "acknowledged, and no intact copy in the log",
    "duplicated": "copies beyond a record's first",
    "reordered": "acknowledged records behind a later-sent one of their partition",
    "unexpected": "log records that were not sent, or that were reported as not written",
}

#: The counts as columns, in their order.
DELIVERY: Columns = MappingProxyType(dict.fromkeys(MEANING, "long"))

#: The kinds of rows in the table ``anomalies``. The first four have the same names as their counts.
ANOMALIES = ("lost", "duplicated", "reordered", "unexpected", "moved-key", "strange-timestamp")


def _delivery(trial: PackedTrial) -> ColumnData:
    return {name: [trial.verdict.counts.get(name, 0)] for name in DELIVERY}


def _anomalies(trial: PackedTrial) -> ColumnData:
    rows: list[AnomalyRow] = (
        [
            *chain.from_iterable(map(anomaly_rows, parts(trial.evidence))),
            *chain.from_iterable(trial.found.values()),
        ]
        if trial.counted
        else []
    )
    return {name: [getattr(row, name) for row in rows] for name in AnomalyRow._fields}


def _operations(trial: PackedTrial) -> ColumnData:
    # Spark reads them in this order, and does not sort them again.
    done = sorted(trial.evidence.operations.values(), key=lambda each: each.n)
    workload = trial.evidence.record.spec.workload
    topics = topic_names(workload.shape, trial.evidence.record.topic)
    numbers = [each.n for each in done]
    return {name: list(map(attrgetter(name), done)) for name in ("invoke_ns", "complete_ns", "error")} | {
        "n": numbers,
        **_writers(workload, topics, numbers),
        "key": keys_of(workload, numbers),
        "outcome": [each.outcome for each in done],
        "partition": [each.partition if each.partition >= 0 else None for each in done],
        "offset": [each.offset if each.offset >= 0 else None for each in done],
    }


def _writers(workload: Workload, topics: Sequence[str], numbers: Sequence[int]) -> ColumnData:
    """Return the producer and the topic of each record. Most trials have one of each."""
    if not workload.shape.is_split:
        return {
            "producer": [workload.producer_of(0)] * len(numbers),
            "topic": [topics[0]] * len(numbers),
        }
    return {
        "producer": [workload.producer_of(n) for n in numbers],
        "topic": [topics[workload.topic_of(n)] for n in numbers],
    }


TABLES: Mapping[str, Table] = MappingProxyType(
    {
        "delivery": Table({"trial": "string", **DELIVERY}, _delivery),
        "anomalies": Table(
            {
                "trial": "string",
                "kind": "string",
                "n": "long?",
                "partition": "long?",
                "offset": "long?",
                "detail": "string?",
            },
            _anomalies,
        ),
        "operations": Table(
            {
                "trial": "string",
                "n": "long",
                "producer": "string",
                "topic": "string",
                "key": "string?",
                "invoke_ns": "long",
                "complete_ns": "long?",
                "outcome": "string",
                "partition": "long?",
                "offset": "long?",
                "error": "string?",
            },
            _operations,
        ),
    }
)
