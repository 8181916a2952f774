"""A full disk ends a run with one error and without verdicts on incomplete evidence, and the run can be resumed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from clients.adapters.reference.__main__ import UNTOLD, _write
from clients.reference.telemetry.trace import ReconnectBackoff
from harness.files import lack_of_room

pytestmark = pytest.mark.jvm

ROOM_MIB = 32


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={ROOM_MIB}m", "tmpfs", str(disk)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"only root can make a disk of its own: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def fill(disk: Path) -> Path:
    """Fill the disk with one file and return its path."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    assert os.statvfs(disk).f_bavail == 0
    return filler


def test_run_on_full_disk_can_be_resumed_after_space_is_freed(planned, small_disk):
    run = planned(2, small_disk)
    run.start()
    run.under_load(1)
    filler = fill(small_disk)
    code, stderr = run.ended()

    assert code == 3
    assert stderr.count("No space left on device") == stderr.count("--out-dir") == 1
    assert run.remaining() == []
    assert run.verdicts() == [("pass", "held")]
    filler.unlink()
    assert run.execute()[0] == 0
    assert run.verdicts() == [("pass", "held")] * 2 and run.has_exports()


def test_full_disk_of_brokers_is_a_harness_error(planned, small_disk):
    """Brokers store their data below TMPDIR, and a broker that cannot write ends."""
    run = planned(1)
    run.env["TMPDIR"] = str(small_disk)
    run.start()
    run.under_load()
    fill(small_disk)
    code, stderr = run.ended()

    assert (code, run.verdicts()) == (3, [("harness-error", "disk-full")])
    assert str(small_disk) in stderr
    assert run.has_exports() and run.remaining() == []
    assert [path.name for path in small_disk.iterdir()] == ["filler"]


def test_client_exits_if_its_trace_cannot_be_written(monkeypatch):
    """A client that continued without its I/O thread would be reported as stuck."""
    # The real call would end the process of the tests.
    monkeypatch.setattr(os, "_exit", sys.exit)
    with Path("/dev/full").open("wb", buffering=0) as full, pytest.raises(SystemExit, match=f"{UNTOLD}"):
        _write(full, ReconnectBackoff(at_ms=0, node=1, failures=1, delay_ms=1))


def test_unreadable_disk_usage_is_not_a_full_disk(tmp_path):
    assert lack_of_room(Path("/proc"), tmp_path / "missing") is None
