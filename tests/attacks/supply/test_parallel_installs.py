"""Many processes that want one installation, and some that die over it: it is made once, whole, or not at all."""

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

HOW_MANY = 8
#: Begins, says so, and installs; the build says so too, and goes on when there is a line on stdin.
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
def test_many_at_a_time_make_it_once(cache: Path, stack: ExitStack) -> None:
    first = Installer(stack)
    assert (first.says(), first.says()) == ("begun", "building")
    others = [Installer(stack) for _ in range(HOW_MANY)]
    assert {other.says() for other in others} == {"begun"}
    assert damages() == []  # what is being made is not damaged
    first.goes_on()
    assert first.says() == "half whole"
    assert {other.says() for other in others} == {"half whole"}
    assert damages() == [None]


@pytest.mark.long("starts many installing processes")
@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_one_that_is_ended_in_the_middle_leaves_it_to_the_next(
    cache: Path, stack: ExitStack, signum: signal.Signals
) -> None:
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
def test_what_a_killed_one_left_is_told_and_can_be_removed(cache: Path, stack: ExitStack) -> None:
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
