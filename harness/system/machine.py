"""The resources that this process may use: cores and free memory, including the limits of containers."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

CGROUPS: Final = Path("/sys/fs/cgroup")
OWN_GROUPS: Final = Path("/proc/self/cgroup")


@dataclass(frozen=True)
class Machine:
    """The available resources. ``cores`` may be a fraction if a container has a quota."""

    cores: float
    memory_bytes: int


def this_machine(cgroups: Path = CGROUPS, own_groups: Path = OWN_GROUPS) -> Machine:
    """Return the current resources: CPU affinity, available memory, and control group limits (v1, v2) with parents."""
    cores: float = len(os.sched_getaffinity(0))
    memory_bytes: float = psutil.virtual_memory().available
    for group in _groups(cgroups, own_groups):
        cores, memory_bytes = min(cores, _cores(group)), min(memory_bytes, _free_bytes(group))
    return Machine(cores, int(memory_bytes))


def _groups(cgroups: Path, own_groups: Path) -> Iterator[Path]:
    """Yield the folders of the process's groups and their parents. Inside a container only the root may exist."""
    for line in _text(own_groups).splitlines():
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            root = cgroups / name
            own = root / path.lstrip("/")
            yield from (group for group in (own, *own.parents) if group.is_relative_to(root))


def _cores(group: Path) -> float:
    """Return the quota divided by the period, both in µs. ``cpu.max`` has both; v1 has one file for each."""
    quota, _, period = _text(group / "cpu.max").partition(" ")
    quota_us = _number(quota, _text(group / "cpu.cfs_quota_us"))
    period_us = _number(period, _text(group / "cpu.cfs_period_us"))
    return quota_us / period_us if 0 < period_us < math.inf else math.inf


def _free_bytes(group: Path) -> float:
    """Return the limit minus used memory that cannot be freed at once (inactive file pages can)."""
    limit = _number(_text(group / "memory.max"), _text(group / "memory.limit_in_bytes"))
    used = _number(_text(group / "memory.current"), _text(group / "memory.usage_in_bytes"))
    if math.inf in (limit, used):
        return math.inf
    stat = dict(line.split(" ", 1) for line in _text(group / "memory.stat").splitlines() if " " in line)
    old = _number(stat.get("total_inactive_file", ""), stat.get("inactive_file", ""), otherwise=0)
    return max(0, limit - max(0, used - old))


def _number(*texts: str, otherwise: float = math.inf) -> float:
    """Return the first text that is a number. "max", "-1" and missing files do not count."""
    return next((int(text) for text in texts if text.isdecimal()), otherwise)


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
