"""Rules for every format: a file is read or refused with one error message, within a minute and a memory limit."""

from __future__ import annotations

import io
import os
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from harness.cli.main import call
from harness.model.spec import AtTime, ClientRef, FaultSpec, OnFrame, Plan, TrialSpec, Workload
from harness.planning.plan import make_plan
from harness.plugins import registry
from harness.storage.run_store import RunStore
from harness.text.escaping import safe_line

#: No example takes one percent of this.
LIMIT_S = 60
#: How much memory an example may take in addition to what the process already has.
MOST_BYTES = 512 << 20
#: Above this limit, Python raises MemoryError, which no reader may let through. Allocators reserve more address space
#: than they use.
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


class TimedOut(BaseException):
    """A BaseException, so that no reader catches it by mistake."""


Survives = Callable[..., Any]


@pytest.fixture(scope="session")
def survives() -> Survives:
    """Return a function: ``survives(read, UsageError)`` returns what was read, or None for this error."""

    def time_out(*_: object) -> None:
        raise TimedOut

    def read_or_refused(read: Callable[[], Any], *refusals: type[Exception]) -> Any:
        before = signal.signal(signal.SIGALRM, time_out)
        Path("/proc/self/clear_refs").write_text("5")  # reset the peak
        begun_bytes = resident_bytes()
        signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
        try:
            return read()
        except refusals as error:
            assert type(error) in refusals, repr(error)
            message = safe_line(str(error), 10_000)
            assert message and "Traceback" not in message
            return None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            assert peak_bytes() - begun_bytes < MOST_BYTES

    return read_or_refused


@pytest.fixture(scope="module")
def memory() -> Iterator[Path]:
    """Return a folder in memory if possible, because every example writes a file."""
    shared = Path("/dev/shm")
    with TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else None) as folder:
        yield Path(folder)


BROKER = "scripted:4.3.1x1"
#: A small load of transactions for a group of two, and faults that add events and frames of every kind.
GROUP_LOAD = Workload(
    kind="consume",
    records=32,
    records_per_command=4,
    value_bytes=60,
    params={"members": 2, "transactions": 1},
)
GROUP_FAULTS = (
    FaultSpec("disconnect", OnFrame("Fetch", "request", nth=2), 150),
    FaultSpec("seek_back", AtTime(450), 100),
    FaultSpec("illegal_calls", AtTime(650), 100),
    FaultSpec("wakeup", AtTime(750), 50, {"member": 2}),
    FaultSpec("member_kill", AtTime(900), 200, {"member": 1}),
)


def of_a_group() -> TrialSpec:
    """Return a trial whose clients consume."""
    reference = ClientRef("reference", registry.client("reference").default_version)
    spec = make_plan(
        [registry.scenario("consume/transactions-committed")], [reference], [BROKER], [1]
    ).trials[0]
    return replace(spec, workload=GROUP_LOAD, faults=GROUP_FAULTS)


@pytest.fixture(scope="module")
def run(memory: Path) -> RunStore:
    """Return a finished run of two simulated trials that produce, and one that consumes. Each is judged in moments."""
    out = memory / "run"
    out.mkdir()
    printed = io.TextIOWrapper(io.BytesIO())
    with redirect_stdout(printed):
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
    planned = msgspec.json.decode(printed.buffer.getvalue(), type=Plan)  # type: ignore[attr-defined]
    plan = out / "plan.json"
    plan.write_bytes(msgspec.json.encode(replace(planned, trials=(*planned.trials, of_a_group()))))
    assert call(["replay", str(plan), "-b", BROKER, "--out-dir", str(out / "runs"), "-q"]) == 0
    return RunStore.open(out / "runs")
