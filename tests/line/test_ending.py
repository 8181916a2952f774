"""However a run ends, nothing of ours is left, and what was finished is kept and can be gone on with."""

from __future__ import annotations

import signal
from pathlib import Path
from tempfile import gettempdir

import psutil
import pytest

from harness import processes

pytestmark = pytest.mark.jvm


def ours(pid: int) -> list[psutil.Process]:
    """All that still lives and was started for the harness with that process id."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(processes.OWNER, "").startswith(f"{pid}:"):
                found.append(process)
        except psutil.Error:
            continue
    return found


def listening() -> set[int]:
    return {
        c.laddr.port
        for c in psutil.net_connections("tcp")
        if c.status == psutil.CONN_LISTEN and c.laddr.port < 32768
    }


def started_and_stopped_at(line, run_dir: Path, sig: signal.Signals, lines: int):
    """Start a run, send ``sig`` after ``lines`` lines of progress, and wait for its end."""
    process = line.start(
        "run", "produce/calm", "-c", "reference", "--seeds", "4", "-j", "2", "--out-dir", str(run_dir)
    )
    for _ in range(lines):
        assert process.stderr.readline(), "the run ended before the signal"
    process.send_signal(sig)
    process.communicate()
    return process.returncode, process.pid


@pytest.mark.parametrize("lines", [1, 2, 4])
@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left(line, tmp_path, sig, lines):
    before = listening()
    code, pid = started_and_stopped_at(line, tmp_path, sig, lines)
    assert code == (-9 if sig == signal.SIGKILL else 128 + sig)
    if sig == signal.SIGKILL:
        line("list", "checks")  # the next command sweeps, at the latest
    _, alive = psutil.wait_procs(ours(pid), timeout=10)
    assert not alive
    assert listening() <= before
    assert not list(Path(gettempdir()).glob(f"kafka-trial-{pid}-*"))


def test_a_killed_run_keeps_its_finished_trials_and_goes_on(line, tmp_path):
    code, _ = started_and_stopped_at(line, tmp_path, signal.SIGKILL, 3)
    assert code == -9
    finished = {path: path.read_bytes() for path in tmp_path.glob("*/trials/*/verdict.json")}
    assert finished
    document = line.json("run", "--resume", str(tmp_path))
    assert document["counts"] == {"pass": 8}
    assert all(path.read_bytes() == before for path, before in finished.items())
