"""Clients that rarely hang for good on a busy machine, through no fault of the test."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest


class Hang(NamedTuple):
    """Where the threads of a client are when it hangs for good, and why. ``busy_s``: the CPU time that it has used."""

    places: tuple[re.Pattern[str], ...]
    why: str
    busy_s: float = 0.0


_NETWORK_WAITS = re.compile(r"selectors\.py\", line \d+ in select\n.*net/selector\.py\", line \d+ in ")
#: Client and version -> how it rarely hangs on a busy machine.
HANGS = {
    ("kafka-python", "3.0.12"): (
        Hang(
            (
                re.compile(r"threading\.py\", line \d+ in wait\n.*net/selector\.py\", line \d+ in run\n"),
                _NETWORK_WAITS,
            ),
            "poll() waits without a limit for a task of the network thread, which waits for its sockets",
        ),
        Hang(
            (
                re.compile(
                    r"consumer/fetcher\.py\", line \d+ in fetch_records\n.*group\.py\", line \d+ in _poll_once\n"
                ),
            ),
            "poll() turns without a pause, and returns nothing",
            busy_s=10.0,
        ),
    )
}


def assert_not_hanging(name: str, version: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """End the test as an expected failure if the client hangs in a way that is known of it."""
    if hangs := HANGS.get((name, version)):
        used_s = psutil.Process(process.pid).cpu_times().user
        process.send_signal(signal.SIGABRT)
        process.wait()
        said = log.read_text(errors="replace")
        for hang in hangs:
            if used_s >= hang.busy_s and all(place.search(said) for place in hang.places):
                pytest.xfail(hang.why)
        raise AssertionError(f"{used_s:.1f} s of CPU time: {said[-8_000:]}")
