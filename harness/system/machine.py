"""What this machine has for us: the cores we may use and the memory that is free, limits of containers counted in."""

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
    """``cores`` may be a part of one, where a container has a quota."""

    cores: float
    memory_bytes: int


def this_machine(cgroups: Path = CGROUPS, own_groups: Path = OWN_GROUPS) -> Machine:
    """As it is now: our affinity, available memory, and the limits of our control groups (v1, v2) and their parents."""
    cores: float = len(os.sched_getaffinity(0))
    memory_bytes: float = psutil.virtual_memory().available
    for group in _groups(cgroups, own_groups):
        cores, memory_bytes = min(cores, _cores(group)), min(memory_bytes, _free_bytes(group))
    return Machine(cores, int(memory_bytes))


def _groups(cgroups: Path, own_groups: Path) -> Iterator[Path]:
    """The folders of our groups and their parents; inside a container only the root may be there."""
    for line in _text(own_groups).splitlines():
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            root = cgroups / name
            own = root / path.lstrip("/")
            yield from (group for group in (own, *own.parents) if group.is_relative_to(root))


def _cores(group: Path) -> float:
    """A quota of a period, both in microseconds: ``cpu.max`` has both, v1 one file for each."""
    quota, _, period = _text(group / "cpu.max").partition(" ")
    quota_us = _number(quota, _text(group / "cpu.cfs_quota_us"))
    period_us = _number(period, _text(group / "cpu.cfs_period_us"))
    return quota_us / period_us if 0 < period_us < math.inf else math.inf


def _free_bytes(group: Path) -> float:
    """The limit less what is used and could not be dropped at once (old pages of files can)."""
    limit = _number(_text(group / "memory.max"), _text(group / "memory.limit_in_bytes"))
    used = _number(_text(group / "memory.current"), _text(group / "memory.usage_in_bytes"))
    if math.inf in (limit, used):
        return math.inf
    stat = dict(line.split(" ", 1) for line in _text(group / "memory.stat").splitlines() if " " in line)
    old = _number(stat.get("total_inactive_file", ""), stat.get("inactive_file", ""), otherwise=0)
    return max(0, limit - max(0, used - old))


def _number(*texts: str, otherwise: float = math.inf) -> float:
    """The first that is a number; "max", "-1" and what is not there are none."""
    return next((int(text) for text in texts if text.isdecimal()), otherwise)


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
