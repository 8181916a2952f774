"""The partition of a record that may never have reached the log.

It is the partition that the client gave, or else the partition that holds the record's key. A topic that
grows maps keys to other partitions. Records handed over before and after a growth are therefore looked up
separately, and a key that is in several partitions gives no answer.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.evidence import Evidence, Operation, view
from harness.workloads.produce.commands import key_of

GROWTH = "topic_growth"


@view
def growths_ns(evidence: Evidence) -> list[int]:
    """Return when the topic began to have more partitions, once per growth."""
    return sorted(
        row.effective_ns[0]
        for row in evidence.faults
        if row.spec.kind == GROWTH and row.effective_ns is not None
    )


def home(evidence: Evidence, send: Operation) -> int | None:
    """Return the partition of a record, or None if it is unknown."""
    if send.partition >= 0:
        return send.partition
    return _homes(evidence).get(_key(evidence, send))


def _key(evidence: Evidence, send: Operation) -> tuple[str | None, int]:
    """Return the record's key, and how often the topic had grown when the record was handed over."""
    grown = sum(at_ns <= send.invoke_ns for at_ns in growths_ns(evidence))
    return key_of(evidence.record.spec.workload, send.n), grown


@view
def _homes(evidence: Evidence) -> Mapping[tuple[str | None, int], int]:
    """Map (key, growths) to the one partition that holds such records. Records without a key are left out."""
    places: dict[tuple[str | None, int], set[int]] = {}
    for n, copies in evidence.copies.items():
        if (send := evidence.operations.get(n)) is not None and copies[0].key is not None:
            places.setdefault(_key(evidence, send), set()).update(copy.partition for copy in copies)
    return {key: next(iter(partitions)) for key, partitions in places.items() if len(partitions) == 1}
