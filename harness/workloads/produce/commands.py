"""The records for the client to send, as commands of the contract. Pure.

Records are numbered from 0 in the order in which they are sent. A record's key depends only on its number, so a reader
of the log knows the key of each record. Its value identifies itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import ClassVar

from harness.model.contract import LoadCommand
from harness.model.load import FIRST, drawn_key, topic_names
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
    """Return the keys of a workload with this number of them; without skew, records have them in this order."""
    return tuple(f"k{n}" for n in range(keys)) or (None,)


def key_of(workload: Workload, n: int) -> str | None:
    """Return the key of record ``n``, or None for a workload without keys."""
    in_turn = keys_in_turn(workload.keys)
    if workload.load is not None and workload.keys:
        return in_turn[drawn_key(workload.keys, workload.load, n)]
    return in_turn[n % len(in_turn)]


def keys_of(workload: Workload, numbers: Iterable[int]) -> list[str | None]:
    """Return the keys of these records. See :func:`key_of`."""
    if workload.load is not None:
        return [key_of(workload, n) for n in numbers]
    in_turn = keys_in_turn(workload.keys)
    return [in_turn[n % len(in_turn)] for n in numbers]


def value_of(workload: Workload, run_id: str, topic: str, n: int) -> str:
    """Return the value of record ``n``, which is sent to ``topic``."""
    if workload.load is None:
        return encode(Identity(run_id, topic, FIRST, n), workload.value_bytes)
    identity = Identity(run_id, topic, workload.producer_of(n), n)
    return encode(identity, workload.size_of(n), workload.body_of(n) or "")


def produce(spec: TrialSpec, run_id: str, topic: str, numbers: range) -> Produce:
    """Return the command to send the records of these numbers. The client chooses the partitions.

    ``topic`` is the trial's first topic; that of the records depends on their numbers.
    """
    workload = spec.workload
    topic = topic_names(workload.shape, topic)[workload.topic_of(numbers.start)]
    return Produce(
        id=0,
        topic=topic,
        first=numbers.start,
        keys=keys_of(workload, numbers),
        values=[value_of(workload, run_id, topic, n) for n in numbers],
    )
