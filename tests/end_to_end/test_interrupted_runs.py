"""A run that is interrupted or killed leaves no process, keeps its finished trials, and can be resumed."""

from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path
from tempfile import gettempdir

import psutil
import pytest

from harness.system import processes

pytestmark = pytest.mark.jvm


def processes_of(pid: int) -> list[psutil.Process]:
    """Return all living processes that were started for the harness with this process id."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(processes.OWNER, "").startswith(f"{pid}:"):
                found.append(process)
        except psutil.Error:
            continue
    return found


LISTEN = "0A"


def listening() -> set[int]:
    """Return the inodes of all listening sockets on this machine.

    Another process can reuse a port immediately, but not an inode.
    """
    lines = [
        line.split() for name in ("tcp", "tcp6") for line in Path("/proc/net", name).read_text().splitlines()
    ]
    return {int(fields[9]) for fields in lines if fields[3] == LISTEN}


def listening_of(pids: set[int]) -> set[int]:
    """Return the inodes of those sockets that these processes hold."""
    held = {target(fd) for pid in pids for fd in open_files(pid)}
    return {inode for inode in listening() if f"socket:[{inode}]" in held}


def open_files(pid: int) -> list[Path]:
    with suppress(FileNotFoundError):  # the process has ended in the meantime
        return list(Path(f"/proc/{pid}/fd").iterdir())
    return []


def target(fd: Path) -> str:
    with suppress(FileNotFoundError):  # it was closed in the meantime
        return str(fd.readlink())
    return ""


def stopped_at(
    line, run_dir: Path, sig: signal.Signals, lines: int, scenario: str = "produce/calm"
) -> tuple[int, int, set[int]]:
    """Start a run, send ``sig`` after ``lines`` lines of progress, and return exit code, pid and listening sockets."""
    process = line.start(
        "run", scenario, "-c", "reference", "--seeds", "4", "-j", "2", "--out-dir", str(run_dir)
    )
    for _ in range(lines):
        assert process.stderr.readline(), "the run ended before the signal"
    sockets = listening_of({process.pid} | {child.pid for child in processes_of(process.pid)})
    process.send_signal(sig)
    process.communicate()
    return process.returncode, process.pid, sockets


@pytest.mark.parametrize("lines", [pytest.param(1, marks=pytest.mark.extended), 4])
@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_socket_or_folder_is_left(line, tmp_path, sig, lines):
    code, pid, sockets = stopped_at(line, tmp_path, sig, lines)
    assert code == (-9 if sig == signal.SIGKILL else 128 + sig)
    if sig == signal.SIGKILL:
        line("list", "checks")  # at the latest, the next command cleans up
    _, alive = psutil.wait_procs(processes_of(pid), timeout=10)
    assert not alive
    assert sockets or lines == 1, "no socket was listening yet"
    assert not sockets & listening()
    assert not list(Path(gettempdir()).glob(f"kafka-trial-{pid}-*"))


def test_killed_run_keeps_finished_trials_and_can_be_resumed(line, tmp_path):
    code, *_ = stopped_at(line, tmp_path, signal.SIGKILL, 3)
    assert code == -9
    finished = {path: path.read_bytes() for path in tmp_path.glob("*/trials/*/verdict.json")}
    assert finished
    document = line.json("run", "--resume", str(tmp_path))
    assert document["counts"] == {"pass": 8}
    assert all(path.read_bytes() == before for path, before in finished.items())


@pytest.mark.extended
def test_run_killed_with_warm_clusters_leaves_nothing_and_can_be_resumed(line, tmp_path):
    """After two verdicts, a cluster has been reused. The resumed run starts its own clusters."""
    code, pid, _ = stopped_at(line, tmp_path, signal.SIGKILL, 3, "broker/topic-grows")
    assert code == -9
    finished = {path: path.read_bytes() for path in tmp_path.glob("*/trials/*/verdict.json")}
    assert finished
    line("list", "checks")
    _, alive = psutil.wait_procs(processes_of(pid), timeout=10)
    assert not alive
    assert not list(Path(gettempdir()).glob(f"kafka-trial-{pid}-*"))
    assert line.json("run", "--resume", str(tmp_path))["counts"] == {"pass": 8}
    assert all(path.read_bytes() == before for path, before in finished.items())
