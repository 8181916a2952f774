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
    """Where a client's main thread is when it turns without a pause, its least CPU time by then, and the reason."""

    place: re.Pattern[str]
    busy_s: float
    why: str


#: Client and version -> how it hangs. A client that waits for records, as it should, uses less than a second.
HANGS = {
    ("kafka-python", "3.0.12"): Hang(
        re.compile(r"consumer/group\.py\", line \d+ in _poll_once\n"),
        10.0,
        "poll() asks for its coordinator and for fetches again and again without a pause, and returns nothing",
    )
}


def assert_not_hanging(name: str, version: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """End the test as an expected failure if the client hangs in a way that is known of it."""
    if hang := HANGS.get((name, version)):
        used_s = psutil.Process(process.pid).cpu_times().user
        process.send_signal(signal.SIGABRT)
        process.wait()
        said = log.read_text(errors="replace")
        if used_s >= hang.busy_s and hang.place.search(said):
            pytest.xfail(hang.why)
        raise AssertionError(f"{used_s:.1f} s of CPU time: {said[-8_000:]}")
