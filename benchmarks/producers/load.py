"""The code that all producer programs of the benchmark share: records, clock, count of results. Standard library only.

A program creates a client, and ``measure`` passes it the same values in the same order. Each client is used as its own
documentation recommends for throughput: a plain loop of sends with callbacks, and one flush at the end.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

DISTINCT = 4_096
WARM_UP = 2_000


@dataclass
class Load:
    """One measurement: ``records`` values of ``size_bytes`` to ``topic``."""

    bootstrap: str
    topic: str
    records: int
    size_bytes: int
    codec: str
    linger_ms: int
    batch_bytes: int
    buffer_bytes: int

    @classmethod
    def from_argv(cls) -> Load:
        return cls(**json.loads(sys.argv[1]))

    def values(self) -> list[bytes]:
        """Return values that compress like real records with lz4: half is random, and half is repeated text."""
        dice = random.Random(7)
        half = self.size_bytes // 2
        words = (b'{"sensor":"kitchen","unit":"celsius","reading":' * (half // 40 + 1))[
            : self.size_bytes - half
        ]
        return [words + dice.randbytes(half) for _ in range(DISTINCT)]


@dataclass
class Results:
    """The counts of the callbacks."""

    stored: int = 0
    failed: int = 0


def peak_rss_bytes() -> int:
    """Return the peak memory of this program alone. (ru_maxrss would include the parent's memory at the fork.)"""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")) * 1024


def report(load: Load, results: Results, seconds: float, cpu_seconds: float, **more: object) -> None:
    """Print one JSON line."""
    counts = {"stored": results.stored - WARM_UP, "failed": results.failed}
    figures = {"seconds": seconds, "cpu_seconds": cpu_seconds, "peak_rss_bytes": peak_rss_bytes()}
    print(json.dumps(figures | counts | more))  # noqa: T201


def measure(
    load: Load, results: Results, send_all: Callable[[list[bytes], int], None], **more: Callable[[], object]
) -> None:
    """Measure ``send_all(values, count)``, which sends ``count`` values and returns when all have their results."""
    values = load.values()
    send_all(values, WARM_UP)
    began, began_cpu = time.perf_counter(), time.process_time()
    send_all(values, load.records)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - began_cpu
    report(load, results, seconds, cpu_seconds, **{name: read() for name, read in more.items()})
