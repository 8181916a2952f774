"""Every started process is stopped: by stop, by the warden, or by the next command."""

from __future__ import annotations

import asyncio
import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.errors import EnvironmentProblem
from harness.system import processes
from harness.system.processes import PIPE, leftovers, owner, scratch_dir, spawn, stop, sweep
from testkit.codes import raises_code

PATIENCE_MS = 20_000
# A child that starts a grandchild in its own session, and prints its id.
DAEMON = "setsid sh -c 'echo $$; exec sleep 1000' & exec sleep 1000"

HARNESS = f"""
import asyncio, json, os, sys
import psutil
from harness.system import processes

async def main():
    child = await processes.spawn(["sh", "-c", {DAEMON!r}], stdout=processes.PIPE)
    daemon = int(await child.stdout.readline())
    folder = processes.scratch_dir()
    folder.joinpath("file").write_text("x")
    [warden] = (each.pid for each in psutil.Process().children() if "harness.system.warden" in each.cmdline())
    print(json.dumps({{"child": child.pid, "daemon": daemon, "folder": str(folder), "warden": warden}}), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    os.kill(child.pid, 0)

asyncio.run(main())
"""


def ended(pid: int, timeout_ms: int = PATIENCE_MS) -> bool:
    """Wait until a process has ended or is a zombie, even if it is not a child; return whether it has."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    try:
        return bool(poll.poll(timeout_ms))
    finally:
        os.close(pidfd)


class Harness:
    """A harness process with a child, a grandchild, a scratch folder and a warden; it ends on request."""

    def __init__(self) -> None:
        root = str(Path(processes.__file__).parents[1])
        self.process = subprocess.Popen(
            [sys.executable, "-c", HARNESS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": root},
        )
        assert self.process.stdout is not None
        told = json.loads(self.process.stdout.readline())
        self.child, self.daemon, self.warden = int(told["child"]), int(told["daemon"]), int(told["warden"])
        self.folder = Path(told["folder"])

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        for pid in (self.warden, self.child, self.daemon):
            assert ended(pid)


@pytest.fixture
def harness(temporary_folder: Path) -> Iterator[Harness]:
    """Return a harness whose folder no other command can sweep."""
    harness = Harness()
    try:
        yield harness
    finally:
        harness.close()


def test_a_killed_harness_leaves_nothing(harness: Harness) -> None:
    assert harness.folder.exists()
    harness.process.kill()
    assert ended(harness.child)
    assert ended(harness.daemon)
    assert ended(harness.warden)
    assert not harness.folder.exists()


def test_a_regular_end_cleans_up_before_it_returns(harness: Harness) -> None:
    harness.process.communicate()
    assert harness.process.returncode == 0
    assert all(ended(pid, timeout_ms=0) for pid in (harness.child, harness.daemon, harness.warden))
    assert not harness.folder.exists()


def test_the_warden_ignores_termination_signals(harness: Harness) -> None:
    warden = Path(f"/proc/{harness.warden}/status")

    def ignored() -> int:
        return int(warden.read_text().partition("SigIgn:")[2].split()[0], 16)

    # All three, because under nohup some are ignored before the warden has set up the others.
    wanted = sum(1 << (number - 1) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    while ignored() & wanted != wanted:
        assert not ended(harness.warden, timeout_ms=5)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(harness.warden, number)
    harness.process.kill()
    assert ended(harness.child)
    assert ended(harness.warden)
    assert not harness.folder.exists()


def test_the_next_command_sweeps_if_the_warden_was_killed_too(harness: Harness) -> None:
    os.kill(harness.warden, signal.SIGKILL)
    assert ended(harness.warden)
    assert harness.folder not in leftovers().folders
    harness.process.kill()
    harness.process.wait()
    assert harness.folder in leftovers().folders
    assert f"folder {harness.folder}" in sweep()
    assert not harness.folder.exists()
    assert ended(harness.child)  # by this sweep or by a concurrent one
    assert ended(harness.daemon)


def test_a_sweep_spares_live_processes(harness: Harness) -> None:
    ours = scratch_dir()
    sweep()
    assert ours.exists()
    assert harness.folder.exists()
    assert not ended(harness.child, timeout_ms=0)
    assert not ended(harness.daemon, timeout_ms=0)
    ours.rmdir()


@pytest.mark.parametrize(("field", "value", "is_swept"), [(1, "1", True), (2, "1", False), (0, "x", False)])
def test_an_owner_is_identified_by_more_than_its_process_id(field: int, value: str, is_swept: bool) -> None:
    """Our process id with another start time is a dead owner; an owner in another namespace cannot be judged."""
    forged = owner().split(":")
    forged[field] = value
    sleeper = subprocess.Popen(["sleep", "1000"], env={**os.environ, processes.OWNER: ":".join(forged)})
    try:
        sweep()
        assert ended(sleeper.pid, timeout_ms=0) is is_swept
    finally:
        sleeper.kill()
        sleeper.wait()


def test_stop_lets_a_child_end_by_itself() -> None:
    async def main() -> int:
        child = await spawn(
            ["sh", "-c", "trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done"], stdout=PIPE
        )
        assert child.stdout is not None
        await child.stdout.readline()
        return await stop(child)

    assert asyncio.run(main()) == 7


def test_stop_kills_a_child_that_does_not_end() -> None:
    async def main() -> int:
        child = await spawn(["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"], stdout=PIPE)
        assert child.stdout is not None
        await child.stdout.readline()
        return await stop(child, grace_s=0.01)

    assert asyncio.run(main()) == -signal.SIGKILL


def test_stop_ends_daemons_that_hold_the_pipe() -> None:
    async def main() -> None:
        child = await spawn(["sh", "-c", DAEMON], stdout=PIPE)
        assert child.stdout is not None
        daemon = int(await child.stdout.readline())
        assert os.getsid(daemon) != os.getsid(child.pid)
        assert await stop(child) == -signal.SIGTERM
        assert ended(daemon, timeout_ms=0)
        assert await child.stdout.read() == b""

    asyncio.run(main())


def test_wait_returns_with_unread_output() -> None:
    async def main() -> int:
        child = await spawn(["yes"], stdout=PIPE, line_limit_bytes=1024)
        assert child.stdout is not None
        await child.stdout.readline()
        code = await stop(child)
        await child.stdout.read()
        return code

    assert asyncio.run(main()) == -signal.SIGTERM


def test_stop_resumes_a_paused_child_so_that_it_can_end() -> None:
    async def main() -> int:
        child = await spawn(["sleep", "1000"])
        os.kill(child.pid, signal.SIGSTOP)
        return await stop(child)

    assert asyncio.run(main()) == -signal.SIGTERM


def test_a_cancelled_stop_kills_at_once() -> None:
    async def main() -> None:
        child = await spawn(["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"], stdout=PIPE)
        assert child.stdout is not None
        await child.stdout.readline()
        stopping = asyncio.create_task(stop(child, grace_s=3600))
        await asyncio.sleep(0)
        stopping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stopping
        assert await child.wait() == -signal.SIGKILL

    asyncio.run(main())


def test_stop_of_one_child_spares_the_others() -> None:
    async def main() -> None:
        first, second = await spawn(["sleep", "1000"]), await spawn(["sleep", "1000"])
        await stop(first)
        assert second.returncode is None
        assert not ended(second.pid, timeout_ms=0)
        await stop(second)

    asyncio.run(main())


def test_output_is_appended_to_a_file(tmp_path: Path) -> None:
    async def main() -> None:
        for _ in range(2):
            child = await spawn(
                ["sh", "-c", "echo out; echo err >&2"], stdout=tmp_path / "log", stderr=tmp_path / "log"
            )
            assert await child.wait() == 0

    asyncio.run(main())
    assert (tmp_path / "log").read_text() == "out\nerr\n" * 2


def test_a_program_that_cannot_be_started_is_an_environment_problem(tmp_path: Path) -> None:
    with raises_code(EnvironmentProblem, "program-not-started", program=re.compile(r"no\-such\-program$")):
        asyncio.run(spawn([tmp_path / "no-such-program"]))


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_an_unwritable_log_is_an_error_of_the_log(tmp_path: Path, stream: str) -> None:
    log = tmp_path / "no-such-folder" / "log"
    with raises_code(EnvironmentProblem, "cannot-write", path=log):
        asyncio.run(spawn(["true"], **{stream: log}))


def test_a_child_is_marked_and_has_its_own_session() -> None:
    async def main() -> None:
        child = await spawn(["sleep", "1000"], env={"PATH": os.environ["PATH"]})
        assert processes.mark_of(psutil.Process(child.pid)) == child.mark
        assert child.mark.startswith(f"{owner()}/")
        assert os.getsid(child.pid) == child.pid
        await stop(child)

    asyncio.run(main())


class Execing(psutil.Process):
    """A process during exec: it has no arguments and no environment for the first few looks."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.looks = looks

    def cmdline(self) -> list[str]:
        return []

    def exe(self) -> str:
        return "/bin/sh"

    def environ(self) -> dict[str, str]:
        self.looks -= 1
        return {} if self.looks >= 0 else {processes.OWNER: "1:2:3"}


@pytest.mark.parametrize("looks", [0, 1, 5])
def test_a_process_during_exec_is_not_overlooked(looks: int) -> None:
    assert processes.mark_of(Execing(looks)) == "1:2:3"


@given(st.dictionaries(st.integers(1, 9), st.integers(0, 9)), st.integers(1, 9))
def test_the_lineage_of_a_process_is_finite(parents: dict[int, int], pid: int) -> None:
    """Reused process ids can make the table of parents circular."""
    walked = list(processes.lineage(pid, parents))
    assert len(walked) == len(set(walked))
    assert walked[:1] == ([pid] if pid in parents else [])
    assert all(parents[child] == parent for child, parent in pairwise(walked))


def test_a_child_that_is_killed_gets_no_sigterm():
    waits = (
        "import signal; both = {signal.SIGTERM, signal.SIGHUP}; signal.pthread_sigmask(signal.SIG_BLOCK, both);"
        "print('ready', flush=True); signal.sigwait({signal.SIGHUP});"
        "print(signal.SIGTERM in signal.sigpending(), flush=True)"
    )

    async def main() -> str:
        child = await spawn([sys.executable, "-c", waits], stdout=PIPE)
        assert child.stdout is not None
        await child.stdout.readline()
        child.is_keeper = True
        await stop(child, grace_s=0)
        return (await child.stdout.readline()).decode().strip()

    assert asyncio.run(main()) == "False"
