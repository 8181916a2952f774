"""The records for the client to send, as commands of the contract. Pure.

Records are numbered from 0 in the order in which they are sent. A record's key depends only on its number, so a reader
of the log knows the key of each record. Its value identifies itself.
"""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

from harness.model.contract import LoadCommand
from harness.model.evidence import PRODUCER
from harness.model.payload import Identity, encode
from harness.model.spec import TrialSpec, Workload


class Produce(LoadCommand, frozen=True, tag="produce"):
    """Send ``len(values)`` records, numbered from ``first``. If ``partitions`` is null, the client chooses."""

    op: ClassVar[str] = "send"
    element: ClassVar[str] = "record"
    columns: ClassVar[tuple[str, ...]] = ("partition", "offset")

    keys: list[str | None]
    values: list[str]
    partitions: list[int] | None = None

    @property
    def count(self) -> int:
        """The number of records."""
        return len(self.values)


#: Trials of one plan have the same keys. Those of a third-party plan may each have a million others.
@lru_cache(maxsize=2)
def keys_in_turn(keys: int) -> tuple[str | None, ...]:
    """Return the keys of a workload with this number of them, in the order of its records, which repeats."""
    return tuple(f"k{n}" for n in range(keys)) or (None,)


def key_of(workload: Workload, n: int) -> str | None:
    """Return the key of record ``n``, or None for a workload without keys."""
    in_turn = keys_in_turn(workload.keys)
    return in_turn[n % len(in_turn)]


def produce(spec: TrialSpec, run_id: str, topic: str, numbers: range) -> Produce:
    """Return the command to send the records of these numbers. The client chooses the partitions."""
    load = spec.workload
    keys = keys_in_turn(load.keys)
    return Produce(
        id=0,
        topic=topic,
        first=numbers.start,
        keys=[keys[n % len(keys)] for n in numbers],
        values=[encode(Identity(run_id, topic, PRODUCER, n), load.value_bytes) for n in numbers],
    )
