"""Compute when each part of the load is handed to the client. Pure; the runner measures the time."""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.spec import Workload


def paced(load: Workload) -> Iterator[tuple[int, range]]:
    """Yield ``(at_ms since the load began, numbers of its elements)`` for each command, in order of time."""
    for turn, first in enumerate(range(0, load.records, load.records_per_command)):
        yield load.at_ms(turn), range(first, min(first + load.records_per_command, load.records))
