"""The command of the lookup workload: ask for the number of partitions of a topic, several times."""

from __future__ import annotations

from typing import ClassVar

from kafka_trial.api import LoadCommand, TrialSpec


class Lookup(LoadCommand, frozen=True, tag="lookup"):
    """Ask ``times`` times how many partitions ``topic`` has. Each result has the number in ``value``."""

    op: ClassVar[str] = "partition_count"
    element: ClassVar[str] = "lookup"
    columns: ClassVar[tuple[str, ...]] = ("value",)

    times: int

    @property
    def count(self) -> int:
        """The number of lookups."""
        return self.times


def lookup(spec: TrialSpec, run_id: str, topic: str, numbers: range) -> Lookup:
    """Return the command for the lookups of these numbers."""
    return Lookup(id=0, topic=topic, first=numbers.start, times=len(numbers))
