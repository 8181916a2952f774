"""Cores and memory under container limits, read from the files of both versions of control groups."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from harness.system.machine import Machine, this_machine

FREE_BYTES = 8 * 2**30


@pytest.fixture
def machine(tmp_path: Path, monkeypatch):
    """A machine with 8 cores and 8 GiB, whose control group files the test writes."""
    # The cores and the memory of the real machine are unknown.
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(psutil, "virtual_memory", _Memory)

    def read(groups: str, files: dict[str, str]) -> Machine:
        own = tmp_path / "cgroup"
        own.write_text(groups)
        for name, text in files.items():
            path = tmp_path / "fs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        return this_machine(tmp_path / "fs", own)

    return read


class _Memory:
    available = FREE_BYTES


def test_without_files_there_are_no_limits(machine, tmp_path):
    assert machine("0::/a/b\n4:memory:/x\n", {}) == Machine(8, FREE_BYTES)
    assert this_machine(tmp_path / "nothing", tmp_path / "nothing") == Machine(8, FREE_BYTES)


@pytest.mark.parametrize(
    ("groups", "files", "cores"),
    [
        ("0::/\n", {"cpu.max": "150000 100000"}, 1.5),
        ("0::/a/b\n", {"a/cpu.max": "50000 100000", "a/b/cpu.max": "max 100000"}, 0.5),
        ("0::/a\n", {"cpu.max": "max 100000"}, 8),
        ("3:cpu,cpuacct:/a\n", {"cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "100000"}, 2),
        ("3:cpu:/a\n", {"cpu/a/cpu.cfs_quota_us": "-1", "cpu/a/cpu.cfs_period_us": "100000"}, 8),
        ("0::/\n", {"cpu.max": "1600000 100000"}, 8),
        ("0::/\n", {"cpu.max": "100000 0"}, 8),
    ],
)
def test_cores_are_limited_by_the_control_group(machine, groups, files, cores):
    assert machine(groups, files) == Machine(cores, FREE_BYTES)


@pytest.mark.parametrize(
    ("groups", "files", "memory_bytes"),
    [
        ("0::/\n", {"memory.max": "1000", "memory.current": "400"}, 600),
        (
            "0::/\n",
            {"memory.max": "1000", "memory.current": "400", "memory.stat": "anon 9\ninactive_file 300"},
            900,
        ),
        ("0::/a\n", {"a/memory.max": "max", "a/memory.current": "400"}, FREE_BYTES),
        ("0::/a\n", {"memory.max": "100", "memory.current": "400"}, 0),
        (
            "4:memory:/a\n",
            {"memory/a/memory.limit_in_bytes": "1000", "memory/a/memory.usage_in_bytes": "999"},
            1,
        ),
        (
            "4:memory:/a\n",
            {"memory/memory.limit_in_bytes": str(2**63), "memory/memory.usage_in_bytes": "5"},
            FREE_BYTES,
        ),
    ],
)
def test_memory_is_limited_by_the_control_group(machine, groups, files, memory_bytes):
    assert machine(groups, files) == Machine(8, memory_bytes)
