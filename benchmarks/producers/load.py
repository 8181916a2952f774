"""The code that all producer programs of the benchmark share: records, clock, count of results. Standard library only.

A program creates a client, and ``measure`` passes it the same values in the same order. Each client is used as its own
documentation recommends for throughput: a plain loop of sends with callbacks, and one flush at the end.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from memory import peak_rss_bytes
from values import values

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


@dataclass
class Results:
    """The counts of the callbacks."""

    stored: int = 0
    failed: int = 0


def report(load: Load, results: Results, seconds: float, cpu_seconds: float, **more: object) -> None:
    """Print one JSON line."""
    counts = {"stored": results.stored - WARM_UP, "failed": results.failed}
    figures = {"seconds": seconds, "cpu_seconds": cpu_seconds, "peak_rss_bytes": peak_rss_bytes()}
    print(json.dumps(figures | counts | more))  # noqa: T201


def measure(
    load: Load, results: Results, send_all: Callable[[list[bytes], int], None], **more: Callable[[], object]
) -> None:
    """Measure ``send_all(values, count)``, which sends ``count`` values and returns when all have their results."""
    contents = values(load.size_bytes)
    send_all(contents, WARM_UP)
    began, began_cpu = time.perf_counter(), time.process_time()
    send_all(contents, load.records)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - began_cpu
    report(load, results, seconds, cpu_seconds, **{name: read() for name, read in more.items()})
