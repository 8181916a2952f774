"""Keep one client process: all of its descendants end with it, however often they have forked.

The harness runs ``python -I -S keeper.py FD``. FD contains one JSON document (:func:`main`). The keeper ends with the
client's exit code, or by the same signal.

- On SIGTERM, it passes the signal on to the client.
- On SIGHUP, or when the harness ends (PR_SET_PDEATHSIG), it kills everything.
- When the client ends, it kills all remaining descendants.

If the kernel allows it, the client runs in a PID namespace (pid_namespaces(7)). A second keeper is the namespace's
init, whose death ends all of its processes at once, and processes in it cannot address any process outside. Otherwise
the keeper is the subreaper of all descendants (prctl(2)), so that a double fork leads back to it. Processes that fork
faster than they are killed may then escape.

This module uses only a small part of the standard library, because it is started for every client.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing would take as long as everything else
    from collections.abc import Callable
    from typing import Any

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
CLONE_NEWUSER, CLONE_NEWPID = 0x10000000, 0x20000000
LAST_PID = "/proc/sys/kernel/ns_last_pid"
#: In place of FD: exit with 0 if a client would get its own namespace.
PROBE = "probe"
HEARD = {signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP}
#: Signals ignored by Python, nohup or a shell. Without a reset, exec would pass that on to the client.
IGNORED = {signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM}
NOT_STARTED = 127
LOOKS_AGAIN_S = 0.1


def main(fd: int) -> None:
    """Keep the process that ``fd`` describes.

    ``{"argv": [...], "env": {...}, "folder": PATH or null, "file_bytes": N, "namespace": BOOL, "oom_score": N,
    "parent": PID}``
    """
    with os.fdopen(fd, "rb") as file:
        file.seek(0)
        asked = json.loads(file.read())
    signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGHUP, 0, 0, 0)
    if os.getppid() != asked["parent"]:  # it ended before the death signal was set
        return
    numbers = opened(LAST_PID) if asked["namespace"] else None
    if numbers is not None and has_own_namespace(libc):
        leave(keep_namespace(libc, asked, numbers))
    leave(keep(started(asked), end_descendants))


def opened(path: str) -> int | None:
    """Open a file for writing. Return None if that is not allowed."""
    try:
        return os.open(path, os.O_WRONLY)
    except OSError:
        return None


def keep_namespace(libc: ctypes.CDLL, asked: dict[str, Any], numbers: int) -> int:
    """Keep the namespace's init, which keeps the client. Return the client's wait status, or init's if it was killed.

    Inside the namespace, the client has the keeper's process id. Files that programs name by their process id (a JVM's
    in /tmp) therefore do not collide.
    """
    told, id = os.memfd_create("status"), os.getpid()
    init = os.fork()
    if init == 0:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        os.setsid()
        os.write(numbers, str(id - 1).encode())
        os.close(numbers)
        status = keep(started(asked), lambda client: None)
        os.write(told, str(status).encode())
        os._exit(0)
    close_pipes()
    status = keep(init, end_namespace)
    return int(os.pread(told, 16, 0) or status)


def started(asked: dict[str, Any]) -> int:
    """Start the client and return its process id."""
    client = os.fork()
    if client == 0:
        become(asked)
    close_pipes()
    return client


def has_own_namespace(libc: ctypes.CDLL) -> bool:
    """Make the next child init of a PID namespace, if possible. An ordinary user needs a user namespace for it."""
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(CLONE_NEWPID) == 0:
        return True
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0:
        return False
    for name, line in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(line)
    return True


def close_pipes() -> None:
    """Close the keeper's copies of the client's pipe ends."""
    for stream in (0, 1):
        os.close(stream)


def become(asked: dict[str, Any]) -> None:
    """Replace this process by the client."""
    try:
        os.setsid()
        for ignored in IGNORED:
            signal.signal(ignored, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (asked["file_bytes"], asked["file_bytes"]))
        try:
            with open("/proc/self/oom_score_adj", "w") as score:
                score.write(str(asked["oom_score"]))
        except OSError:  # /proc may be read-only: then the kernel's default applies
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        if asked["folder"] is not None:
            os.chdir(asked["folder"])
        os.execvpe(asked["argv"][0], asked["argv"], asked["env"])
    except OSError as error:
        sys.stderr.write(f"{asked['argv'][0]} cannot be started: {error.strerror}\n")
        sys.stderr.flush()
    finally:
        os._exit(NOT_STARTED)


def keep(kept: int, end: Callable[[int], int | None]) -> int:
    """Wait until a child ends, call ``end`` for the rest, and return the child's wait status."""
    while True:
        heard = signal.sigwait(HEARD)
        if heard == signal.SIGTERM:
            os.kill(kept, signal.SIGTERM)  # it is not reaped yet, so the id still belongs to it
        status = end(kept) if heard == signal.SIGHUP else reaped(kept)
        if status is not None:
            end(kept)
            return status


def reaped(kept: int) -> int | None:
    """Reap all children that have ended. Return the kept child's wait status if it is among them."""
    status = None
    try:
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == kept:
                status = ended[1]
    except ChildProcessError:
        pass
    return status


def end_namespace(init: int) -> int | None:
    """Kill init and wait until the kernel has killed the rest. Return None if init had already ended."""
    try:
        os.kill(init, signal.SIGKILL)
        return os.waitpid(init, 0)[1]
    except (ProcessLookupError, ChildProcessError):
        return None


def end_descendants(client: int) -> int | None:
    """Kill all descendants. They are stopped first, so that none can fork meanwhile.

    The process tree changes while it is read, and a child whose parent is just ending may be missing. It is therefore
    read again until there is no child left, instead of waiting for a child that was not killed.
    """
    status = None
    while True:
        stopped: set[int] = set()
        while fresh := descendants() - stopped:
            send(fresh, signal.SIGSTOP)
            stopped |= fresh
        send(stopped, signal.SIGKILL)
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                status = ended[1] if ended[0] == client else status
        except ChildProcessError:
            return status
        signal.sigtimedwait({signal.SIGCHLD}, LOOKS_AGAIN_S)


def send(pids: set[int], number: int) -> None:
    """Send a signal to each process that still exists."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):  # it has changed its user, and cannot be killed
            pass


def descendants() -> set[int]:
    """Return all living descendants, from the current process tree."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if state not in b"ZX":
                parents[int(name)] = int(parent)
    found: set[int] = set()
    before = -1
    while len(found) != before:
        before = len(found)
        found |= {pid for pid, parent in parents.items() if parent in found or parent == os.getpid()}
    return found


def leave(status: int) -> None:
    """End in the same way as the client."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {-code})
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    if sys.argv[1] == PROBE:
        raise SystemExit(opened(LAST_PID) is None or not has_own_namespace(ctypes.CDLL(None, use_errno=True)))
    main(int(sys.argv[1]))
