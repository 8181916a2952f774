"""A disk that is full in mid-run: one sentence, no verdict on half the evidence; with room again the run goes on."""

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
    """A file that leaves no byte."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    assert os.statvfs(disk).f_bavail == 0
    return filler


def test_a_full_disk_of_runs_ends_the_run_which_goes_on_once_there_is_room(planned, small_disk):
    run = planned(2, small_disk)
    run.start()
    run.under_load(1)
    filler = fill(small_disk)
    code, said = run.ended()

    assert code == 3
    assert said.count("No space left on device") == said.count("--out-dir") == 1
    assert run.left() == []
    assert run.verdicts() == [("pass", "held")]
    filler.unlink()
    assert run.carried_out()[0] == 0
    assert run.verdicts() == [("pass", "held")] * 2 and run.has_exports()


def test_a_full_disk_of_brokers_is_no_clients_doing(planned, small_disk):
    """Brokers have their data below TMPDIR; one that cannot write ends."""
    run = planned(1)
    run.env["TMPDIR"] = str(small_disk)
    run.start()
    run.under_load()
    fill(small_disk)
    code, said = run.ended()

    assert (code, run.verdicts()) == (3, [("harness-error", "disk-full")])
    assert str(small_disk) in said
    assert run.has_exports() and run.left() == []
    assert [path.name for path in small_disk.iterdir()] == ["filler"]


def test_a_trace_that_cannot_be_written_ends_the_client_at_once(monkeypatch):
    """A client that went on without its I/O thread would be accused of being stuck."""
    monkeypatch.setattr(os, "_exit", sys.exit)
    with Path("/dev/full").open("wb", buffering=0) as full, pytest.raises(SystemExit, match=f"{UNTOLD}"):
        _write(full, ReconnectBackoff(at_ms=0, node=1, failures=1, delay_ms=1))


def test_a_disk_of_which_nothing_is_known_is_not_full(tmp_path):
    assert lack_of_room(Path("/proc"), tmp_path / "missing") is None
