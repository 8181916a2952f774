"""Runs of a few short trials, executed by the command line in a separate process, so that a test can disturb them.

Each test writes its plan, because no scenario is short enough, and the command resumes it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import gettempdir
from typing import Any, TypeVar

import psutil
import pytest
from msgspec.structs import replace

from harness.model.run_files import TRACE
from harness.model.spec import ClientRef, Plan, Workload
from harness.planning import own_commands
from harness.planning.plan import make_plan
from harness.plugins import registry
from harness.storage.run_store import RunRecord, RunStore
from harness.system import processes

T = TypeVar("T")

HOSTILE = Path(__file__).parents[1] / "hostile_client"
SCRIPT = Path(sys.executable).with_name("kafka-trial")
BROKER = "local:4.3.1x1"
#: Long enough for a test that checks every few milliseconds to disturb it while it runs.
LOAD = Workload(records=200, records_per_command=5, interval_ms=100)
EXPORTS = ("results.jsonl", "junit.xml", "summary.md", "findings.json")
LOOK_S, LOOKS = 0.01, 12_000


def until(ready: Callable[[], T | None], what: str) -> T:
    """Return what ``ready`` returns, once it is true."""
    for _ in range(LOOKS):
        if found := ready():
            return found
        time.sleep(LOOK_S)
    raise AssertionError(f"it did not happen: {what}")


@dataclass
class Run:
    """One run: its folder, and the command that executes it."""

    store: RunStore
    command: tuple[str, ...] = (str(SCRIPT),)
    env: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[str] | None = None

    @property
    def trials(self) -> list[str]:
        return [spec.trial for spec in self.store.record.plan.trials]

    def start(self, *argv: str, **options: Any) -> subprocess.Popen[str]:
        """Start the command that resumes the run."""
        self.process = subprocess.Popen(
            [*self.command, "run", "--resume", str(self.store.folder), *argv],
            env={**os.environ, **self.env},
            cwd=gettempdir(),
            text=True,
            start_new_session=True,
            **({"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options),
        )
        return self.process

    def ended(self) -> tuple[int, str]:
        """Wait until the command has ended and return its exit code and its stderr."""
        assert self.process is not None
        stdout, stderr = self.process.communicate()
        assert "Traceback" not in stderr and not stdout
        return self.process.returncode, stderr

    def execute(self, *argv: str) -> tuple[int, str]:
        """Run the command to its end and return its exit code and its stderr."""
        self.start(*argv)
        return self.ended()

    def under_load(self, trial: int = 0) -> None:
        """Wait until the client of the trial has written to its trace."""
        assert self.process is not None
        trace = self.store.trial_folder(self.trials[trial]) / "client" / TRACE

        def working() -> bool:
            assert self.process is not None and self.process.poll() is None, self.process.communicate()
            with suppress(OSError):
                return trace.stat().st_size > 0
            return False

        until(working, f"load of {self.trials[trial]}")

    def verdicts(self) -> list[tuple[str, str]]:
        """Return verdict and code of the finished trials, in the order of the plan."""
        return [(each.verdict, each.code) for each in self.store.verdicts()]

    def has_exports(self) -> bool:
        """Whether all export files exist. Asserts that ``results.jsonl`` has one line for each finished trial."""
        lines = [json.loads(line) for line in (self.store.folder / "results.jsonl").read_text().splitlines()]
        assert [each["trial"] for each in lines] == [each.trial for each in self.store.verdicts()]
        return all((self.store.folder / name).exists() for name in EXPORTS)

    def remaining(self) -> list[object]:
        """Return the processes and scratch folders that remain after the command has ended."""
        assert self.process is not None
        psutil.wait_procs(self.children(), timeout=20)
        return [*self.children(), *Path(gettempdir()).glob(f"kafka-trial-{self.process.pid}-*")]

    def children(self, *words: str) -> list[psutil.Process]:
        """Return the processes of the command that have all these words on their command line."""
        assert self.process is not None
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                mark = process.environ().get(processes.OWNER, "")
                if mark.startswith(f"{self.process.pid}:") and all(
                    any(word in part for part in process.cmdline()) for word in words
                ):
                    found.append(process)
        return found

    def child(self, *words: str) -> psutil.Process:
        """Return the only process with these words on its command line."""
        [found] = self.children(*words)
        return found


@pytest.fixture
def planned(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """Return a function: ``planned(n)`` creates a run of ``n`` short trials without faults, and does not start it."""
    runs = []

    def make(
        trials: int,
        out_dir: Path | None = None,
        jobs: int = 1,
        workload: Workload = LOAD,
        hostile: str | None = None,
    ) -> Run:
        """With ``hostile``, that program is the client of one more trial, which is the second."""
        client = ClientRef("reference", registry.client("reference").default_version)
        calm = registry.scenario("produce/calm")
        specs = [*make_plan([calm], [client], [BROKER], range(1, trials + 1)).trials]
        if hostile is not None:
            program = own_commands.client((sys.executable, "-I", "-S", str(HOSTILE), hostile), hostile)
            specs[3:3] = make_plan([calm], [program], [BROKER], [1]).trials
        short = [replace(spec, workload=workload) for spec in specs if spec.guarantee == "idempotent"]
        record = RunRecord("20260101-000000-0000", "", Plan(1, tuple(short)), jobs, {}, [])
        runs.append(Run(RunStore.create(out_dir or tmp_path / "runs", record)))
        return runs[-1]

    yield make
    for run in runs:
        if run.process is not None and run.process.poll() is None:
            run.process.send_signal(signal.SIGCONT)
            run.process.terminate()
            run.process.communicate()
