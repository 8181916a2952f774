"""Which partition a key belongs to, according to the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from harness.model.evidence import Evidence, view
from harness.workloads.produce.commands import key_of

UNKNOWN = -1


@view
def key_places(evidence: Evidence) -> Mapping[str, Mapping[int, list[int]]]:
    """Map key -> partition -> the numbers of its records there, in log order. Records without a key are left out."""
    workload = evidence.record.spec.workload
    found: dict[str, dict[int, list[int]]] = {}
    for n, copies in evidence.copies.items():
        if (key := key_of(workload, n)) is not None:
            for copy in copies:
                found.setdefault(key, {}).setdefault(copy.partition, []).append(n)
    return found


def partitions_of_keys(evidence: Evidence) -> Callable[[int], int]:
    """Return a function from a record's number to the one partition that holds its key, or :data:`UNKNOWN`."""
    workload, places = evidence.record.spec.workload, key_places(evidence)

    def partition_of(n: int) -> int:
        key = key_of(workload, n)
        partitions = places.get(key, {}) if key is not None else {}
        return next(iter(partitions)) if len(partitions) == 1 else UNKNOWN

    return partition_of
