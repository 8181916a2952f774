"""A keeper ends in the same way as its client, and all descendants of the client end when keeper or client ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import psutil
import pytest

from harness.adapter import keeper, kept_process

pytestmark = pytest.mark.long("starts and ends processes for each test")

#: Drops ``CAP_SYS_ADMIN``, so that even root needs a user namespace to create a PID namespace.
UNPRIVILEGED = (
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(24, 21, 0, 0, 0); "
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)
IN_A_NAMESPACE = ("as it is", "as a plain user")
MODES = (*IN_A_NAMESPACE, "without a namespace")
PRINT_PID = "import os, sys, time; print(os.getpid(), flush=True); time.sleep(300)"

Keep = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture(params=MODES)
def keep(request: pytest.FixtureRequest) -> Iterator[Keep]:
    """Return a function: ``keep(CODE)`` starts a keeper whose client is Python with this code."""
    started: list[subprocess.Popen[bytes]] = []

    def start(code: str) -> subprocess.Popen[bytes]:
        asked = {
            "argv": [sys.executable, "-I", "-S", "-c", code],
            "env": dict(os.environ),
            "folder": None,
            "file_bytes": 2**20,
            "namespace": request.param != "without a namespace",
            "oom_score": 0,
            "parent": os.getpid(),
        }
        fd = os.memfd_create("asked")
        os.write(fd, json.dumps(asked).encode())
        plain = ["-c", UNPRIVILEGED] if request.param == "as a plain user" else []
        argv = [sys.executable, *plain, "-I", "-S", keeper.__file__, str(fd)]
        started.append(subprocess.Popen(argv, stdout=subprocess.PIPE, pass_fds=[fd]))
        os.close(fd)
        return started[-1]

    yield start
    for process in started:
        process.send_signal(signal.SIGHUP)  # on SIGHUP, a keeper ends all processes that it keeps
        process.communicate()


def first_line(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().decode().strip()


def below(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


@pytest.mark.parametrize("code", [0, 1, 7, 255])
def test_keeper_exits_with_exit_code_of_client(keep, code):
    assert keep(f"raise SystemExit({code})").wait() == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGHUP])
def test_keeper_ends_by_signal_that_ended_client(keep, number):
    assert keep(f"import os; os.kill(os.getpid(), {int(number)})").wait() == -number


@pytest.fixture
def ignoring() -> Iterator[None]:
    """Ignore SIGHUP and SIGINT, as under nohup or in the background of a shell."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGHUP, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_client_does_not_inherit_ignored_signals(ignoring, keep, number):
    assert keep(f"import os; os.kill(os.getpid(), {int(number)})").wait() == -number


def test_keeper_handles_signals_that_harness_ignores(ignoring, keep):
    child = keep(PRINT_PID)
    first_line(child)
    child.send_signal(signal.SIGHUP)

    assert child.wait(timeout=30) == -signal.SIGKILL


def test_sigterm_is_forwarded_to_client(keep):
    child = keep(
        "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(3)); print(1, flush=True); time.sleep(300)"
    )
    first_line(child)
    child.terminate()

    assert child.wait() == 3


#: Without a namespace, a killed keeper ends no process: the harness finds them by the mark in their environment.
ENDINGS = [
    *((way, signal.SIGHUP) for way in MODES),
    *((way, signal.SIGKILL) for way in IN_A_NAMESPACE),
]


@pytest.mark.parametrize(("keep", "number"), ENDINGS, indirect=["keep"])
def test_all_descendants_end_with_keeper(keep, number):
    child = keep(f"import os\nfor _ in range(5): os.fork() or os.setsid()\n{PRINT_PID}")
    for _ in range(32):
        first_line(child)
    family = below(child)
    assert len(family) >= 32
    child.send_signal(number)
    child.wait()

    ended, alive = psutil.wait_procs(family, timeout=60)
    assert alive == [] and len(ended) == len(family)


def test_clients_have_different_process_ids(keep):
    children = [keep(PRINT_PID) for _ in range(3)]

    assert len({first_line(each) for each in children}) == 3


@pytest.mark.parametrize("keep", IN_A_NAMESPACE, indirect=True)
def test_client_in_namespace_cannot_signal_processes_outside(keep):
    child = keep(
        f"import os\ntry: os.kill({os.getpid()}, 0)\nexcept ProcessLookupError: print('no such process')"
    )

    assert first_line(child) == "no such process"


@pytest.mark.parametrize("plain", [False, True])
def test_probe_reports_whether_namespaces_are_available(plain):
    before = ["-c", UNPRIVILEGED] if plain else []
    argv = [sys.executable, *before, "-I", "-S", keeper.__file__, keeper.PROBE]
    probed = subprocess.run(argv, capture_output=True, check=False)

    assert probed.returncode == (not kept_process.has_namespaces()) and not probed.stderr
