"""What the client is asked to send: a trial's workload as timed commands. Pure; the runner keeps the time.

Records are numbered from 0 in the order in which they are sent. A record's key depends on its number alone, so
whoever reads the log back knows which key belongs to which record; its value testifies for itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from harness.model.contract import Produce
from harness.model.evidence import PRODUCER
from harness.model.payload import Identity, encode
from harness.model.spec import TrialSpec, Workload


#: Trials of one plan have the same keys; those of a foreign one may all have a million others.
@lru_cache(maxsize=2)
def keys_in_turn(keys: int) -> tuple[str | None, ...]:
    """The keys of a workload with so many, in the order in which its records have them, over and over."""
    return tuple(f"k{n}" for n in range(keys)) or (None,)


def key_of(workload: Workload, n: int) -> str | None:
    """The key of record ``n``; None for a workload without keys."""
    in_turn = keys_in_turn(workload.keys)
    return in_turn[n % len(in_turn)]


def commands(spec: TrialSpec, run_id: str, topic: str) -> Iterator[tuple[int, Produce]]:
    """``(at_ms since load began, command)`` in order of time; ids from 1; the client chooses the partitions."""
    load = spec.workload
    keys = keys_in_turn(load.keys)
    for chunk, first in enumerate(range(0, load.records, load.chunk)):
        numbers = range(first, min(first + load.chunk, load.records))
        yield (
            chunk * load.interval_ms,
            Produce(
                id=chunk + 1,
                topic=topic,
                first=first,
                keys=[keys[n % len(keys)] for n in numbers],
                values=[encode(Identity(run_id, topic, PRODUCER, n), load.value_bytes) for n in numbers],
            ),
        )
