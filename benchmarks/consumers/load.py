"""The code that all consumer programs of the benchmark share: settings, clock, count of results. Standard library only.

A program creates a client and starts it, and ``measure`` reads a topic with it, from the assignment to the last record.
Each client is used as its own documentation recommends for throughput: polls of many records, and a plain loop over
them that takes every value.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass

from memory import forget_peak, peak_rss_bytes, resident_bytes

POLL_S = 1.0


@dataclass
class Load:
    """One measurement: ``records`` values in ``partitions`` partitions of ``topic``."""

    bootstrap: str
    topic: str
    partitions: int
    records: int
    fetch_max_bytes: int
    partition_max_bytes: int
    max_poll_records: int

    @classmethod
    def from_argv(cls) -> Load:
        return cls(**json.loads(sys.argv[1]))


class Measured:
    """``with Measured() as measured:`` measures the time and memory of the block, which ends with ``took``.

    At the end it prints one JSON line.
    """

    def took(self, records: int, value_bytes: int) -> None:
        """Store the counts."""
        self._counts = {"records": records, "value_bytes": value_bytes}

    def __enter__(self) -> Measured:
        forget_peak()
        self._before_bytes = resident_bytes()
        self._began, self._began_cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, kind: object, error: BaseException | None, at: object) -> None:
        seconds, cpu_seconds = time.perf_counter() - self._began, time.process_time() - self._began_cpu
        if error is None:
            growth_bytes = peak_rss_bytes() - self._before_bytes
            figures = {"seconds": seconds, "cpu_seconds": cpu_seconds, "peak_growth_bytes": growth_bytes}
            print(json.dumps(self._counts | figures))  # noqa: T201
