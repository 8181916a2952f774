"""A keeper ends as its client ends, and all that descends from the client ends with either."""

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

#: ``CAP_SYS_ADMIN`` is given up: then even root needs a user namespace for a PID namespace.
PLAIN = (
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(24, 21, 0, 0, 0); "
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)
IN_A_NAMESPACE = ("as it is", "as a plain user")
WAYS = (*IN_A_NAMESPACE, "without a namespace")
SAYS_ITS_ID = "import os, sys, time; print(os.getpid(), flush=True); time.sleep(300)"

Keep = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture(params=WAYS)
def keep(request: pytest.FixtureRequest) -> Iterator[Keep]:
    """``keep(CODE)``: a keeper whose client is Python with this code."""
    started: list[subprocess.Popen[bytes]] = []

    def start(code: str) -> subprocess.Popen[bytes]:
        asked = {
            "argv": [sys.executable, "-I", "-S", "-c", code],
            "env": dict(os.environ),
            "file_bytes": 2**20,
            "namespace": request.param != "without a namespace",
            "oom_score": 0,
            "parent": os.getpid(),
        }
        fd = os.memfd_create("asked")
        os.write(fd, json.dumps(asked).encode())
        plain = ["-c", PLAIN] if request.param == "as a plain user" else []
        argv = [sys.executable, *plain, "-I", "-S", keeper.__file__, str(fd)]
        started.append(subprocess.Popen(argv, stdout=subprocess.PIPE, pass_fds=[fd]))
        os.close(fd)
        return started[-1]

    yield start
    for process in started:
        process.send_signal(signal.SIGHUP)  # with which all ends that it keeps
        process.communicate()


def first_line(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().decode().strip()


def below(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


@pytest.mark.parametrize("code", [0, 1, 7, 255])
def test_an_exit_code_is_handed_on(keep, code):
    assert keep(f"raise SystemExit({code})").wait() == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGHUP])
def test_a_signal_that_ends_the_client_is_handed_on(keep, number):
    assert keep(f"import os; os.kill(os.getpid(), {int(number)})").wait() == -number


@pytest.fixture
def ignoring() -> Iterator[None]:
    """As under nohup, or in the background of a shell."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGHUP, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_a_signal_that_the_harness_ignores_is_none_that_its_client_ignores(ignoring, keep, number):
    assert keep(f"import os; os.kill(os.getpid(), {int(number)})").wait() == -number


def test_a_keeper_hears_what_its_harness_ignores(ignoring, keep):
    child = keep(SAYS_ITS_ID)
    first_line(child)
    child.send_signal(signal.SIGHUP)

    assert child.wait(timeout=30) == -signal.SIGKILL


def test_a_client_is_asked_to_end(keep):
    child = keep(
        "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(3)); print(1, flush=True); time.sleep(300)"
    )
    first_line(child)
    child.terminate()

    assert child.wait() == 3


#: A keeper that is killed can end nothing: without a namespace the harness looks for processes with its mark.
ENDS = [
    *((way, signal.SIGHUP) for way in WAYS),
    *((way, signal.SIGKILL) for way in IN_A_NAMESPACE),
]


@pytest.mark.parametrize(("keep", "number"), ENDS, indirect=["keep"])
def test_with_its_keeper_all_that_it_started_ends(keep, number):
    child = keep(f"import os\nfor _ in range(5): os.fork() or os.setsid()\n{SAYS_ITS_ID}")
    for _ in range(32):
        first_line(child)
    family = below(child)
    assert len(family) >= 32
    child.send_signal(number)
    child.wait()

    gone, alive = psutil.wait_procs(family, timeout=60)
    assert alive == [] and len(gone) == len(family)


def test_no_two_clients_have_the_same_process_id(keep):
    children = [keep(SAYS_ITS_ID) for _ in range(3)]

    assert len({first_line(each) for each in children}) == 3


@pytest.mark.parametrize("keep", IN_A_NAMESPACE, indirect=True)
def test_a_client_in_a_namespace_can_signal_no_process_outside(keep):
    child = keep(
        f"import os\ntry: os.kill({os.getpid()}, 0)\nexcept ProcessLookupError: print('no such process')"
    )

    assert first_line(child) == "no such process"


@pytest.mark.parametrize("plain", [False, True])
def test_a_probe_says_whether_there_are_namespaces(plain):
    before = ["-c", PLAIN] if plain else []
    argv = [sys.executable, *before, "-I", "-S", keeper.__file__, keeper.PROBE]
    told = subprocess.run(argv, capture_output=True, check=False)

    assert told.returncode == (not kept_process.has_namespaces()) and not told.stderr
