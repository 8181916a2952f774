"""Start child processes, and make sure that they end: at the end, after an error, on Ctrl-C, and after kill -9.

Every process started for the harness has its *owner* in the environment, as ``KAFKA_TRIAL_OWNER``. Its own children
inherit this mark, so no process tree has to be recorded. The owner's scratch folders have it in their names. Three
mechanisms clean up by this mark, each as a fallback for the previous one:

- :func:`stop` ends one child and all its descendants in an orderly way while the harness runs. A client under test also
  has its own keeper (``harness.adapter.keeper``), so that no process it starts escapes, with or without the mark.
- The warden (``harness.system.warden``) is a small process at the other end of a pipe. The pipe closes when the harness
  ends for any reason, and the warden then removes all that is left of it.
- :func:`sweep` at the start of each command removes what dead owners left, in case a warden died as well.

A process id alone does not identify a process, since ids are reused. An owner consists of its process id, its start
time in clock ticks since boot, and its PID namespace (processes in another container are left alone).
"""

from __future__ import annotations

import asyncio
import atexit
import itertools
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from asyncio.subprocess import PIPE, Process, SubprocessStreamProtocol
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from harness.files import open_log, remove_tree
from harness.model.errors import EnvironmentProblem

__all__ = [
    "PIPE",
    "Child",
    "Leftovers",
    "leftovers",
    "owner",
    "owner_env",
    "scratch_dir",
    "spawn",
    "stop",
    "sweep",
]

OWNER = "KAFKA_TRIAL_OWNER"
SWEEP_TIMEOUT_S = KEEPER_S = 10.0
LINE_LIMIT_BYTES = 2**26
EXEC_PATIENCE_MS = 200
#: Files that a child writes into a run are private to the user, like the harness's own.
OWN_UMASK = 0o077
_SCRATCH = re.compile(r"kafka-trial-(\d+)-(\d+)-(\d+)-\w+")

_warden: tuple[int, subprocess.Popen[bytes], int] | None = None  # pid, process, write end
_warden_lock = threading.Lock()
_child_numbers = itertools.count(1)


def owner() -> str:
    """Return the owner id of this process: ``pid:ticks:namespace``."""
    pid = os.getpid()
    return f"{pid}:{_start_ticks(pid)}:{_namespace()}"


def owner_env() -> dict[str, str]:
    """Return the environment for a child that :func:`spawn` does not start, so that it is cleaned up too."""
    _post_warden()
    return {OWNER: owner()}


def new_mark() -> str:
    """Return the mark for the next child."""
    return f"{owner_env()[OWNER]}/{next(_child_numbers)}"


def _namespace() -> str:
    return "".join(filter(str.isdigit, str(Path("/proc/self/ns/pid").readlink())))


def _start_ticks(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot, or None if it has ended.

    Clock adjustments do not change this value.
    """
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state in "ZX" else int(fields[18])


def _is_dead(owner: str) -> bool:
    pid, ticks, namespace = owner.split(":")
    return namespace == _namespace() and _start_ticks(int(pid)) != int(ticks)


class Child(Process):
    """A process whose :meth:`wait` returns when it has ended, even if a descendant keeps its pipes open.

    ``asyncio`` also waits for the end of every pipe. A stopped client that left a daemon, or output that is never read,
    would block the harness forever.
    """

    def __init__(
        self,
        transport: asyncio.SubprocessTransport,
        protocol: _ChildProtocol,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        super().__init__(transport, protocol, loop)
        self._exited = protocol.exited
        self.mark = ""
        #: True for a keeper, which is asked to end all of its processes.
        self.is_keeper = False

    def close_pipes(self) -> None:
        """Close its pipes once it has ended. A pipe with unread output would stay open."""
        self._transport.close()  # type: ignore[attr-defined]

    async def wait(self) -> int:
        await self._exited.wait()
        assert self.returncode is not None
        return self.returncode


class _ChildProtocol(SubprocessStreamProtocol):
    def __init__(self, limit: int, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit=limit, loop=loop)
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()


async def spawn(
    argv: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: int | None = subprocess.DEVNULL,
    stdout: int | Path | None = None,
    stderr: int | Path | None = None,
    line_limit_bytes: int = LINE_LIMIT_BYTES,
    pass_fds: Sequence[int] = (),
    is_marked: bool = True,
) -> Child:
    """Start a child in its own session, so that a terminal's Ctrl-C reaches only the harness.

    ``env`` replaces the environment (default: the harness's), and the owner's mark is added to it. A stream may be
    ``PIPE``, ``DEVNULL``, ``STDOUT``, None (inherited) or a path, to which it is appended. At most ``line_limit_bytes``
    of a pipe are buffered, which is also the longest line that ``readline`` accepts. With ``is_marked`` False, the
    child gets no mark and must end by itself. Raises EnvironmentProblem if it cannot be started, or if a file cannot be
    written.
    """
    loop = asyncio.get_running_loop()
    mark = new_mark()
    with ExitStack() as files:
        try:
            transport, protocol = await loop.subprocess_exec(
                lambda: _ChildProtocol(line_limit_bytes, loop),
                *map(str, argv),
                env={**(os.environ if env is None else env), **({OWNER: mark} if is_marked else {})},
                cwd=cwd,
                stdin=stdin,
                stdout=_stream(stdout, files),
                stderr=_stream(stderr, files),
                start_new_session=True,
                pass_fds=pass_fds,
                umask=OWN_UMASK,
            )
        except OSError as error:
            raise EnvironmentProblem(
                "program-not-started",
                "{program} cannot be started: {why}",
                why=error.strerror or error,
                program=argv[0],
            ) from error
    child = Child(transport, protocol, loop)
    child.mark = mark
    return child


def _stream(target: int | Path | None, files: ExitStack) -> int | IO[bytes] | None:
    if not isinstance(target, Path):
        return target
    try:
        return files.enter_context(open_log(target))
    except OSError as error:
        raise EnvironmentProblem(
            "cannot-write", "cannot write {path}: {why}", path=target, why=error.strerror or error
        ) from error


async def stop(child: Child, grace_s: float = 5.0) -> int:
    """End a child: SIGTERM to its group, SIGKILL after ``grace_s``, and SIGKILL to all of its descendants.

    Without a grace period there is no SIGTERM, at which a child could begin an orderly end. Returns the exit code
    (negative: the signal). For a child that has ended, only its descendants are killed.
    """
    if child.returncode is None and grace_s > 0:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGTERM)
            os.killpg(child.pid, signal.SIGCONT)  # a stopped process would never receive the SIGTERM
    try:
        if child.returncode is None:
            await asyncio.wait_for(child.wait(), grace_s)
    except TimeoutError:
        pass
    finally:  # also when the caller is cancelled, without a grace period then
        if child.is_keeper and child.returncode is None:
            for number in (signal.SIGHUP, signal.SIGCONT):
                child.send_signal(number)
            with suppress(TimeoutError):
                await asyncio.wait_for(child.wait(), KEEPER_S)
        await asyncio.to_thread(_kill, lambda mark: mark == child.mark)
    return await child.wait()


@dataclass(frozen=True)
class Leftovers:
    """Processes and folders of owners that have ended."""

    processes: list[psutil.Process]
    folders: list[Path]


def leftovers() -> Leftovers:
    """Return what dead owners have left on this machine, without removing it."""
    return Leftovers(list(_marked(_of_the_dead)), list(_scratch_dirs(_is_dead)))


def sweep(owner: str | None = None) -> list[str]:
    """Remove what dead owners left (and what ``owner`` left, dead or alive): kill processes and delete folders.

    Returns one line per removed item. Raises EnvironmentProblem if a process survives SIGKILL.
    """

    def belongs(mark: str) -> bool:
        return mark.partition("/")[0] == owner or _of_the_dead(mark)

    killed = _kill(belongs)
    folders = list(_scratch_dirs(belongs))
    for folder in folders:
        with suppress(OSError):
            remove_tree(folder)
    return [*killed, *(f"folder {folder}" for folder in folders if not folder.exists())]


def _of_the_dead(mark: str) -> bool:
    return _is_dead(mark.partition("/")[0])


def _marked(matches: Callable[[str], bool]) -> Iterator[psutil.Process]:
    """Yield every process with a matching mark and its descendants, except this process and its ancestors."""
    parents: dict[int, int] = {}
    processes: dict[int, psutil.Process] = {}
    marked: set[int] = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            processes[process.pid], parents[process.pid] = process, process.ppid()
            mark = mark_of(process)
            if re.fullmatch(r"\d+:\d+:\d+(/\d+)?", mark) and matches(mark):
                marked.add(process.pid)
    spared = set(lineage(os.getpid(), parents))
    for pid, process in processes.items():
        if pid not in spared and not marked.isdisjoint(set(lineage(pid, parents)) - spared):
            yield process


def mark_of(process: psutil.Process) -> str:
    """Return the mark of a process, or "". During exec a process has no arguments and no environment for a moment."""
    environ = process.environ()
    for _ in range(EXEC_PATIENCE_MS):
        if environ or process.cmdline() or not process.exe():
            break
        time.sleep(0.001)
        environ = process.environ()
    return environ.get(OWNER, "")


def lineage(pid: int, parents: Mapping[int, int]) -> Iterator[int]:
    """Yield a process id and those of its ancestors, by a table of parents."""
    seen: set[int] = set()  # ids may be reused while the table is being read, which could make a loop
    while pid in parents and pid not in seen:
        yield pid
        seen.add(pid)
        pid = parents[pid]


def _kill(matches: Callable[[str], bool]) -> list[str]:
    """SIGKILL all that matches, and repeat until nothing does: a process may fork while it is being killed."""
    killed: dict[int, str] = {}
    deadline = time.monotonic() + SWEEP_TIMEOUT_S
    while found := [process for process in _marked(matches) if _start_ticks(process.pid) is not None]:
        if time.monotonic() > deadline:
            pids = ", ".join(str(process.pid) for process in found)
            raise EnvironmentProblem(
                "processes-survive", "these processes survive SIGKILL: {pids}", pids=pids
            )
        for process in found:
            with suppress(psutil.Error):
                killed.setdefault(process.pid, f"process {process.pid} ({process.name()})")
                process.kill()
        for process in found:
            _await_end(process.pid, deadline - time.monotonic())
    return list(killed.values())


def _await_end(pid: int, timeout_s: float) -> None:
    """Wait for any process to end without reaping it, since ``asyncio`` needs the exit code of its own children."""
    with suppress(ProcessLookupError), ExitStack() as closing:
        pidfd = os.pidfd_open(pid)
        closing.callback(os.close, pidfd)
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        poll.poll(max(0.0, timeout_s) * 1000)


def scratch_dir() -> Path:
    """Create a folder for temporary data. It is removed when this process ends."""
    _post_warden()
    return Path(tempfile.mkdtemp(prefix=f"kafka-trial-{owner().replace(':', '-')}-"))


def _scratch_dirs(belongs: Callable[[str], bool]) -> Iterator[Path]:
    for folder in Path(tempfile.gettempdir()).glob("kafka-trial-*"):
        name = _SCRATCH.fullmatch(folder.name)
        with suppress(FileNotFoundError):
            if name and folder.lstat().st_uid == os.getuid() and belongs(":".join(name.groups())):
                yield folder


def _post_warden() -> None:
    """Start the warden, once per process. It must not have a mark, so that no sweep kills it."""
    global _warden
    with _warden_lock:
        if _warden is not None and _warden[0] == os.getpid():
            return
        env = {name: value for name, value in os.environ.items() if name != OWNER}
        env["PYTHONPATH"] = os.pathsep.join(
            filter(None, [str(Path(__file__).parents[1]), env.get("PYTHONPATH")])
        )
        read_end, write_end = os.pipe()
        process = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.warden", owner()],
            stdin=read_end,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=env,
            start_new_session=True,
        )
        os.close(read_end)
        _warden = (os.getpid(), process, write_end)
        atexit.register(_relieve_warden)


def _relieve_warden() -> None:
    """At a regular exit, let the warden clean up and wait for it, so that no process outlives the command."""
    if _warden is None or _warden[0] != os.getpid():
        return
    os.close(_warden[2])
    if _warden[1].wait() != 0:
        sweep(owner())
