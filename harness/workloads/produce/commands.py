"""What the client is asked to send, as commands of the contract. Pure.

Records are numbered from 0 in the order in which they are sent. A record's key depends on its number alone, so
whoever reads the log back knows which key belongs to which record; its value testifies for itself.
"""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

from harness.model.contract import LoadCommand
from harness.model.evidence import PRODUCER
from harness.model.payload import Identity, encode
from harness.model.spec import TrialSpec, Workload


class Produce(LoadCommand, frozen=True, tag="produce"):
    """Send ``len(values)`` records, numbered from ``first``; ``partitions`` null leaves the choice to the client."""

    op: ClassVar[str] = "send"
    element: ClassVar[str] = "record"
    columns: ClassVar[tuple[str, ...]] = ("partition", "offset")

    keys: list[str | None]
    values: list[str]
    partitions: list[int] | None = None

    @property
    def count(self) -> int:
        """How many records."""
        return len(self.values)


#: Trials of one plan have the same keys; those of a foreign one may all have a million others.
@lru_cache(maxsize=2)
def keys_in_turn(keys: int) -> tuple[str | None, ...]:
    """The keys of a workload with so many, in the order in which its records have them, over and over."""
    return tuple(f"k{n}" for n in range(keys)) or (None,)


def key_of(workload: Workload, n: int) -> str | None:
    """The key of record ``n``; None for a workload without keys."""
    in_turn = keys_in_turn(workload.keys)
    return in_turn[n % len(in_turn)]


def produce(spec: TrialSpec, run_id: str, topic: str, numbers: range) -> Produce:
    """The command to send the records of these numbers; the client chooses the partitions."""
    load = spec.workload
    keys = keys_in_turn(load.keys)
    return Produce(
        id=0,
        topic=topic,
        first=numbers.start,
        keys=[keys[n % len(keys)] for n in numbers],
        values=[encode(Identity(run_id, topic, PRODUCER, n), load.value_bytes) for n in numbers],
    )
