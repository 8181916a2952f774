"""To which partition a record belongs that may never have got there: as its client said, or where its key is.

A topic that gets more partitions gives keys other homes. So the records that were handed over before that and those of
afterwards each tell for themselves, and a key that is in several partitions tells nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.evidence import Evidence, Operation, view
from harness.workloads.produce.commands import key_of

GROWTH = "topic_growth"


@view
def growths_ns(evidence: Evidence) -> list[int]:
    """When the topic began to have more partitions, each time."""
    return sorted(
        row.effective_ns[0]
        for row in evidence.faults
        if row.spec.kind == GROWTH and row.effective_ns is not None
    )


def home(evidence: Evidence, send: Operation) -> int | None:
    """The partition of a record; None where nothing tells."""
    if send.partition >= 0:
        return send.partition
    return _homes(evidence).get(_key(evidence, send))


def _key(evidence: Evidence, send: Operation) -> tuple[str | None, int]:
    """Its key, and how often the topic had grown when it was handed over."""
    grown = sum(at_ns <= send.invoke_ns for at_ns in growths_ns(evidence))
    return key_of(evidence.record.spec.workload, send.n), grown


@view
def _homes(evidence: Evidence) -> Mapping[tuple[str | None, int], int]:
    """Key and growths -> the one partition where such records are; without a key a record may go anywhere."""
    places: dict[tuple[str | None, int], set[int]] = {}
    for n, copies in evidence.copies.items():
        if (send := evidence.operations.get(n)) is not None and copies[0].key is not None:
            places.setdefault(_key(evidence, send), set()).update(copy.partition for copy in copies)
    return {key: next(iter(partitions)) for key, partitions in places.items() if len(partitions) == 1}
