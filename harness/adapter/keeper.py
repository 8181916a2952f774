"""Keeps one client process: whatever descends from it ends with it, however far away it has forked.

The harness runs ``python -I -S keeper.py FD``; FD holds one JSON document (:func:`main`). The keeper ends with the
exit code, or by the signal, of the client.

- SIGTERM: passed on to the client.
- SIGHUP, or the end of the harness (PR_SET_PDEATHSIG): everything is killed.
- The client ends: what is left of it is killed.

Where the kernel allows it, the client lives in a PID namespace (pid_namespaces(7)): a second keeper is its init, whose
death ends all in it at once, and what lives in it can name no process outside. Elsewhere the keeper is the subreaper
of all that descends from it (prctl(2)), so that a double fork leads back here; what forks faster than it is killed
can then stay ahead.

Standard library only, and little of that: it is started for every client.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing would take as long as all the rest
    from collections.abc import Callable
    from typing import Any

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
CLONE_NEWUSER, CLONE_NEWPID = 0x10000000, 0x20000000
LAST_PID = "/proc/sys/kernel/ns_last_pid"
#: In the place of FD: ends with 0 where a client would have a namespace of its own.
PROBE = "probe"
HEARD = {signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP}
#: By Python, nohup or a shell; exec would hand that on to the client.
IGNORED = {signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM}
NOT_STARTED = 127
LOOKS_AGAIN_S = 0.1


def main(fd: int) -> None:
    """Keep what ``fd`` asks for.

    ``{"argv": [...], "env": {...}, "file_bytes": N, "namespace": BOOL, "oom_score": N, "parent": PID}``
    """
    with os.fdopen(fd, "rb") as file:
        file.seek(0)
        asked = json.loads(file.read())
    signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGHUP, 0, 0, 0)
    if os.getppid() != asked["parent"]:  # it has ended before we could ask to be told
        return
    numbers = opened(LAST_PID) if asked["namespace"] else None
    if numbers is not None and has_own_namespace(libc):
        leave(keep_namespace(libc, asked, numbers))
    leave(keep(started(asked), end_descendants))


def opened(path: str) -> int | None:
    """A file to be written; None if that is not allowed."""
    try:
        return os.open(path, os.O_WRONLY)
    except OSError:
        return None


def keep_namespace(libc: ctypes.CDLL, asked: dict[str, Any], numbers: int) -> int:
    """Keep init of the namespace, which keeps the client; the client's wait status, or init's own if it was killed.

    The client has our process id in there: files that programs name by their id (a JVM's in /tmp) stay apart.
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
    """Start the client."""
    client = os.fork()
    if client == 0:
        become(asked)
    close_pipes()
    return client


def has_own_namespace(libc: ctypes.CDLL) -> bool:
    """Whether the next child is init of a PID namespace; a plain user has a user namespace for it."""
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
    """The client's ends of its pipes are the client's alone."""
    for stream in (0, 1):
        os.close(stream)


def become(asked: dict[str, Any]) -> None:
    """Turn into the client."""
    try:
        os.setsid()
        for ignored in IGNORED:
            signal.signal(ignored, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (asked["file_bytes"], asked["file_bytes"]))
        try:
            with open("/proc/self/oom_score_adj", "w") as score:
                score.write(str(asked["oom_score"]))
        except OSError:  # /proc may be read-only: then the kernel chooses by itself
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.execvpe(asked["argv"][0], asked["argv"], asked["env"])
    except OSError as error:
        sys.stderr.write(f"{asked['argv'][0]} cannot be started: {error.strerror}\n")
        sys.stderr.flush()
    finally:
        os._exit(NOT_STARTED)


def keep(kept: int, end: Callable[[int], int | None]) -> int:
    """Wait for the end of a child, and ``end`` what is left of it; its wait status."""
    while True:
        heard = signal.sigwait(HEARD)
        if heard == signal.SIGTERM:
            os.kill(kept, signal.SIGTERM)  # not reaped yet: the id is still the child's
        status = end(kept) if heard == signal.SIGHUP else reaped(kept)
        if status is not None:
            end(kept)
            return status


def reaped(kept: int) -> int | None:
    """Collect all that have ended; the child's wait status if it is among them."""
    status = None
    try:
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == kept:
                status = ended[1]
    except ChildProcessError:
        pass
    return status


def end_namespace(init: int) -> int | None:
    """Kill init, and wait until the kernel has killed all the rest; None: it had ended before."""
    try:
        os.kill(init, signal.SIGKILL)
        return os.waitpid(init, 0)[1]
    except (ProcessLookupError, ChildProcessError):
        return None


def end_descendants(client: int) -> int | None:
    """Kill everything below us. Stopped first, so that nothing forks away from the killing.

    The tree is read while it changes, and can lack a child whose parent is just ending: it is read again until we have
    no child, instead of waiting for one that was not killed.
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
    """A signal to each that is still there."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):  # it has changed its user: we may not kill it
            pass


def descendants() -> set[int]:
    """All living processes below us, by the tree of the moment."""
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
    """End as the client ended."""
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
