"""Fixtures: a run from another user, a folder that must not change, and a command that is run in this process."""

from __future__ import annotations

import io
import os
import shutil
import signal
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import call
from harness.storage.run_store import RunStore

TRIALS = 2
#: A command that waited for a pipe would wait forever.
LIMIT_S = 120
SPARSE_BYTES = 200 * 2**30
PRECIOUS = b"precious\n"


@pytest.fixture(autouse=True)
def time_limited() -> Iterator[None]:
    def time_out(*_: object) -> None:
        raise AssertionError(f"the test took longer than {LIMIT_S} s")

    before = signal.signal(signal.SIGALRM, time_out)
    signal.alarm(LIMIT_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished run of two simulated trials."""
    out = tmp_path_factory.mktemp("evidence")
    printed = io.TextIOWrapper(io.BytesIO())
    argv = ["run", "generated/network", "-c", "reference", "-g", "idempotent", "--seeds", str(TRIALS)]
    with redirect_stdout(printed):
        assert call([*argv, "--seed", "1", "--dry-run", "--json"]) == 0
    plan = out / "plan.json"
    plan.write_bytes(printed.buffer.getvalue())  # type: ignore[attr-defined]
    assert call(["replay", str(plan), "-b", "scripted:4.3.1x1", "--out-dir", str(out / "runs"), "-q"]) == 0
    return RunStore.open(out / "runs").folder


@pytest.fixture
def run(evidence: Path, tmp_path: Path) -> RunStore:
    """Return a copy of that run, which the test can damage."""
    shutil.copytree(evidence, tmp_path / "runs" / evidence.name)
    return RunStore(tmp_path / "runs" / evidence.name)


@pytest.fixture
def trial(run: RunStore) -> Path:
    """Return the folder of the first trial of the run."""
    return run.trial_folder(run.record.plan.trials[0].trial)


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return mode and content of everything in a folder, by relative path."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in folder.rglob("*")
    }


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """Return a folder of other files. The fixture asserts that the test does not change it."""
    folder = tmp_path / "outside"
    (folder / "trials").mkdir(parents=True)
    (folder / "file").write_bytes(PRECIOUS)
    (folder / "trials" / "notes").write_bytes(PRECIOUS)
    before = snapshot(folder)
    yield folder
    assert snapshot(folder) == before


@dataclass(frozen=True)
class Ended:
    code: int
    err: str

    @property
    def error_line(self) -> str:
        """Return the only error on stderr."""
        [found] = [line for line in self.err.splitlines() if line.startswith("error[")]
        assert "defect" not in found and "Traceback" not in self.err, self.err
        return found


def first(values: Iterable[str], many: int = 1) -> list[Any]:
    """Return the values as parameters, of which only the first ``many`` are in the fast tier."""
    return [
        pytest.param(
            each,
            marks=pytest.mark.long("every further kind of file; the first ones are in the fast tier")
            if n >= many
            else (),
        )
        for n, each in enumerate(values)
    ]


Command = Callable[..., Ended]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Return a function: ``command("judge", run)`` returns the exit code and stderr."""

    def executed(*argv: str | Path) -> Ended:
        capsys.readouterr()
        code = call([*map(str, argv)])
        return Ended(code, capsys.readouterr().err)

    return executed


Plant = Callable[[Path, str, Path], None]


@pytest.fixture
def plant() -> Plant:
    """Return a function: ``plant(path, what, outside)`` replaces a file or folder by something else."""

    def put(path: Path, what: str, outside: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            path.rename(outside.parent / "moved")
        elif path.exists():
            path.rename(outside.parent / f"moved-{path.name}")
        match what:
            case "pipe":
                os.mkfifo(path)
            case "link":
                path.symlink_to(outside / "file")
            case "link to what was there":
                path.symlink_to(outside.parent / f"moved-{path.name}")
            case "broken link":
                path.symlink_to(outside / "new")
            case "link to itself":
                path.symlink_to(path.name)
            case "link to a folder":
                path.symlink_to(outside)
            case "folder":
                path.mkdir()
            case "full folder":
                path.mkdir()
                (path / "something").touch()
            case "socket":
                here = Path.cwd()
                os.chdir(path.parent)  # a socket's path has at most 108 bytes
                with socket.socket(socket.AF_UNIX) as bound:
                    bound.bind(path.name)
                os.chdir(here)
            case "device":
                if os.getuid():
                    pytest.skip("only root makes devices")
                os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))  # /dev/zero has no end
            case "sparse file":
                with path.open("wb") as file:
                    file.truncate(SPARSE_BYTES)
            case "hard link":
                path.hardlink_to(outside / "file")
            case "file":
                path.write_bytes(b"mine")

    return put
