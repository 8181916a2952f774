"""A run from somebody else, what is precious outside of it, and how a command ends that is given the run."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import call
from harness.storage.run_store import RunStore

TRIALS = 2
#: A command that waits for a pipe would wait for ever.
HANGS_S = 120
SPARSE_BYTES = 200 * 2**30
PRECIOUS = b"precious\n"


@pytest.fixture(autouse=True)
def nothing_hangs() -> Iterator[None]:
    def hangs(*_: object) -> None:
        raise AssertionError("it hangs")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(HANGS_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of simulated trials."""
    out = tmp_path_factory.mktemp("evidence")
    capture = pytest.MonkeyPatch()
    told: list[bytes] = []
    capture.setattr("harness.cli.output.put", told.append)
    argv = ["run", "generated/network", "-c", "reference", "-g", "idempotent", "--seeds", str(TRIALS)]
    assert call([*argv, "--seed", "1", "--dry-run", "--json"]) == 0
    capture.undo()
    plan = out / "plan.json"
    plan.write_bytes(b"".join(told))
    assert call(["replay", str(plan), "-b", "scripted:4.3.1x1", "--out-dir", str(out / "runs"), "-q"]) == 0
    return RunStore.open(out / "runs").folder


@pytest.fixture
def run(evidence: Path, tmp_path: Path) -> RunStore:
    """A copy of it, to be bent."""
    shutil.copytree(evidence, tmp_path / "runs" / evidence.name)
    return RunStore(tmp_path / "runs" / evidence.name)


@pytest.fixture
def trial(run: RunStore) -> Path:
    """The folder of its first trial."""
    return run.trial_folder(run.record.plan.trials[0].trial)


def seen(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Everything in a folder: path -> mode and content."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in folder.rglob("*")
    }


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A folder of other things: after the test it is as it was."""
    folder = tmp_path / "outside"
    (folder / "trials").mkdir(parents=True)
    (folder / "file").write_bytes(PRECIOUS)
    (folder / "trials" / "notes").write_bytes(PRECIOUS)
    before = seen(folder)
    yield folder
    assert seen(folder) == before


@dataclass(frozen=True)
class Ended:
    code: int
    err: str

    @property
    def sentence(self) -> str:
        """The one error that was told."""
        [found] = [line for line in self.err.splitlines() if line.startswith("error[")]
        assert "defect" not in found and "Traceback" not in self.err, self.err
        return found


def first(values: Iterable[str], many: int = 1) -> list[Any]:
    """Parameters of which the fast tier has only the first: the others go the same way."""
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
    """``command("judge", run)``: its exit code and what it said on stderr."""

    def ended(*argv: str | Path) -> Ended:
        capsys.readouterr()
        code = call([*map(str, argv)])
        return Ended(code, capsys.readouterr().err)

    return ended


Plant = Callable[[Path, str, Path], None]


@pytest.fixture
def plant() -> Plant:
    """``plant(path, what, outside)``: put something else in the place of a file or folder."""

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
                os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))  # /dev/zero: it never ends
            case "sparse file":
                with path.open("wb") as file:
                    file.truncate(SPARSE_BYTES)
            case "hard link":
                path.hardlink_to(outside / "file")
            case "file":
                path.write_bytes(b"mine")

    return put
