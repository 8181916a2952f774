"""If several processes create one installation, or one is killed meanwhile, it is created once and completely."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import pytest

from harness.provision.caches import installations, installed
from harness.provision.installations import survey

PROCESSES = 8
#: Prints a line at the start and one in the build, which continues when it reads a line from stdin.
INSTALLER = """
import sys
from pathlib import Path
from harness.provision.caches import installed

def build(folder):
    (folder / "half").write_text("half")
    print("building", flush=True)
    sys.stdin.readline()
    (folder / "whole").write_text("whole")

print("begun", flush=True)
place = installed("kind", "name", build)
print(*sorted(path.name for path in place.iterdir()), flush=True)
"""


class Installer:
    def __init__(self, stack: ExitStack) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", INSTALLER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        )
        stack.callback(self.process.communicate)
        stack.callback(self.process.kill)

    def says(self) -> str:
        out: IO[str] | None = self.process.stdout
        assert out is not None
        return out.readline().strip()

    def goes_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def damages() -> list[str | None]:
    return [one.damage for one in survey()]


@pytest.mark.long("starts many installing processes")
def test_concurrent_processes_install_once(cache: Path, stack: ExitStack) -> None:
    first = Installer(stack)
    assert (first.says(), first.says()) == ("begun", "building")
    others = [Installer(stack) for _ in range(PROCESSES)]
    assert {other.says() for other in others} == {"begun"}
    assert damages() == []  # an unfinished build is not reported as damage
    first.goes_on()
    assert first.says() == "half whole"
    assert {other.says() for other in others} == {"half whole"}
    assert damages() == [None]


@pytest.mark.long("starts many installing processes")
@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_next_process_installs_if_one_is_ended(cache: Path, stack: ExitStack, signum: signal.Signals) -> None:
    first = Installer(stack)
    assert (first.says(), first.says()) == ("begun", "building")
    second = Installer(stack)
    assert second.says() == "begun"
    first.process.send_signal(signum)
    first.process.wait()
    assert second.says() == "building"
    second.goes_on()
    assert second.says() == "half whole"
    assert damages() == [None]


@pytest.mark.long("starts many installing processes")
def test_leftovers_of_a_killed_process_are_reported_and_removable(cache: Path, stack: ExitStack) -> None:
    first = Installer(stack)
    assert (first.says(), first.says()) == ("begun", "building")
    first.process.kill()
    first.process.wait()
    [left] = survey()
    assert (left.name, left.damage) == ("name", "it was begun, and never finished")
    left.remove()
    assert list(survey()) == []
    assert not list((installations() / "kind").glob(".*.partial"))
    assert installed("kind", "name", lambda folder: (folder / "new").touch()).exists()
