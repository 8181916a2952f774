"""Attacks with processes and signals."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

from contract import ENOUGH_S, at, results, startup, trace


@at("produce")
def sleeps(_: Any) -> None:
    time.sleep(ENOUGH_S)


@at("produce")
def stops_itself(_: Any) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


@at("startup")
def ignores_signals(_: Any) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    startup()


@at("produce")
def leaves_a_daemon(_: Any) -> None:
    """Start a process that nothing connects with this one: two forks, its own session, no environment, no open file."""
    code = (
        "import os, time; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0); time.sleep(300)"
    )
    argv = [sys.executable, "-I", "-S", "-c", code, *sys.argv[2:]]
    subprocess.run(argv, env={}, check=True, close_fds=True)


@at("produce")
def forks_on_and_on(_: Any) -> None:
    """Start eight chains of processes, each of which forks the next one and ends. Their length is limited."""
    for _ in range(8):
        if os.fork() == 0:
            os.setsid()
            for _ in range(500):
                time.sleep(0.01)
                if os.fork() != 0:
                    os._exit(0)
            os._exit(0)


@at("produce")
def doubles(_: Any) -> None:
    """Start 256 processes in eight steps. The first one ends and the others stay."""
    first = os.getpid()
    for _ in range(8):
        if os.fork() == 0:
            os.setsid()
    if os.getpid() == first:
        os._exit(0)
    time.sleep(ENOUGH_S)


@at("produce")
def kills_everybody(_: Any) -> None:
    """Kill every process in the namespace. Outside of one, kill only itself, because it may be a user's desktop."""
    if os.getppid() == 1:
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


@at("produce")
def kills_its_keeper(_: Any) -> None:
    os.kill(os.getppid(), signal.SIGKILL)


@at("produce")
def stops_its_keeper(_: Any) -> None:
    os.kill(os.getppid(), signal.SIGSTOP)


@at("produce")
def dies_of_a_signal(_: Any) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


@at("produce")
def closes_its_ends(_: Any) -> None:
    os.close(0)
    os.close(1)
    time.sleep(ENOUGH_S)


@at("produce")
def shows_its_environment(command: Any) -> None:
    (trace()).write_text(json.dumps({"environment": dict(os.environ)}) + "\n")
    results(command)


@at("produce")
def renames_itself(_: Any) -> None:
    """Change the name in the process table, and continue in a child."""
    ctypes.CDLL(None).prctl(15, b"kafka-trial", 0, 0, 0)
    if os.fork():
        os._exit(0)
    time.sleep(ENOUGH_S)
