"""What holds for every format: within a minute and so much memory it is read, or refused with one sentence of ours."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from harness.cli.main import call
from harness.storage.run_store import RunStore
from harness.text.escaping import safe_line

#: No example takes a hundredth of it.
HANGS_S = 60
#: What an example may take beside what the process has already.
MOST_BYTES = 512 << 20
#: Beyond it there is a MemoryError, which no reader may raise. Allocators reserve more address space than they use.
MOST_RESERVED_BYTES = 4 << 30


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


@pytest.fixture(autouse=True, scope="module")
def bounded() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * os.sysconf("SC_PAGE_SIZE") + MOST_RESERVED_BYTES, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


class Hangs(BaseException):
    """Nothing that catches exceptions takes it for one of its own."""


Survives = Callable[..., Any]


@pytest.fixture(scope="session")
def survives() -> Survives:
    """``survives(read, UsageError)``: what was read, or None where it was refused by just this class of error."""

    def hangs(*_: object) -> None:
        raise Hangs

    def read_or_refused(read: Callable[[], Any], *refusals: type[Exception]) -> Any:
        before = signal.signal(signal.SIGALRM, hangs)
        Path("/proc/self/clear_refs").write_text("5")  # the peak is that of now
        begun_bytes = resident_bytes()
        signal.setitimer(signal.ITIMER_REAL, HANGS_S)
        try:
            return read()
        except refusals as error:
            assert type(error) in refusals, repr(error)
            told = safe_line(str(error), 10_000)
            assert told and "Traceback" not in told
            return None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            assert peak_bytes() - begun_bytes < MOST_BYTES

    return read_or_refused


@pytest.fixture(scope="module")
def memory() -> Iterator[Path]:
    """A folder in memory, if there is one: every example writes a file."""
    shared = Path("/dev/shm")
    with TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else None) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def run(memory: Path) -> RunStore:
    """A finished run of two simulated trials, small enough to be judged in some milliseconds."""
    out = memory / "run"
    out.mkdir()
    told: list[bytes] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("harness.cli.output.put", told.append)
        argv = [
            "run",
            "generated/network",
            "-c",
            "reference",
            "-g",
            "idempotent",
            "--seeds",
            "2",
            "--seed",
            "1",
        ]
        assert call([*argv, "--dry-run", "--json"]) == 0
    plan = out / "plan.json"
    plan.write_bytes(b"".join(told))
    assert call(["replay", str(plan), "-b", "scripted:4.3.1x1", "--out-dir", str(out / "runs"), "-q"]) == 0
    return RunStore.open(out / "runs")
