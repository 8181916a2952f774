"""The results of the lookups, compared with the number of partitions that the topic was created with.

An *answered* lookup is one that the client reported as done. Its value is *unreadable* unless it is a decimal number,
and *wrong* if it is another number than the topic has.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_trial.api import Evidence, Operation

#: What each count of a verdict counts, in words.
MEANING: Mapping[str, str] = {
    "asked": "lookups that the client began",
    "answered": "lookups that the client reported as done",
    "wrong": "answers with another number of partitions than the topic has",
    "unreadable": "answers that are not a decimal number",
}

#: Kafka numbers partitions in 32 bits.
DIGITS = 10


def expected(evidence: Evidence) -> int:
    """Return the number of partitions that the topic was created with."""
    return evidence.record.spec.workload.partitions


def number(operation: Operation) -> int | None:
    """Return the number that the client reported, or None if it reported none, or something else."""
    value = operation.value or ""
    return int(value) if value.isascii() and value.isdecimal() and len(value) <= DIGITS else None


def wrong(evidence: Evidence) -> list[Operation]:
    """Return the answers with another number."""
    right = (None, expected(evidence))
    return [each for each in evidence.acknowledged.values() if number(each) not in right]


def unreadable(evidence: Evidence) -> list[Operation]:
    """Return the answers that are not a decimal number."""
    return [each for each in evidence.acknowledged.values() if number(each) is None]


def count(evidence: Evidence) -> dict[str, int]:
    """Return the counts of a verdict, in the order of :data:`MEANING`."""
    return {
        "asked": len(evidence.operations),
        "answered": len(evidence.acknowledged),
        "wrong": len(wrong(evidence)),
        "unreadable": len(unreadable(evidence)),
    }
