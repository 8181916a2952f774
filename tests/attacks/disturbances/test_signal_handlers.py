"""Signals between the end of a run and the end of the process change neither the exit code nor the output."""

import asyncio
import signal
import subprocess
import sys

import pytest

from harness.cli import interrupts

#: A command whose run is ended by SIGHUP. From then on, each call of a function sends all three signals.
SIGNALLED = """
import asyncio, os, signal, sys
from harness.cli import interrupts, main, start

# The defaults exist for longer than the globals, which the interpreter clears before its last calls.
def send_all(*_, send=os.kill, process=os.getpid(), numbers=interrupts.SIGNALS):
    for number in numbers:
        send(process, number)

async def run():
    os.kill(os.getpid(), signal.SIGHUP)
    await asyncio.sleep(60)

@main.app.command("signalled")
def signalled() -> int:
    number = asyncio.run(interrupts.until_signal(run()))
    sys.setprofile(send_all)
    return 128 + number

sys.argv[1:] = ["signalled"]
start.main()
"""


#: A command that a signal ends before its run, for example while a client is being installed.
INSTALLING = """
import os, sys
from harness.cli import main, start

number = int(sys.argv[1])

@main.app.command("installing")
def installing() -> int:
    try:
        os.kill(os.getpid(), number)
    finally:
        print("cleaned up")
    return 0

sys.argv[1:] = ["installing"]
start.main()
"""


@pytest.mark.parametrize("number", interrupts.SIGNALS)
def test_a_signal_before_a_run_ends_the_command_in_order(number):
    ended = subprocess.run(
        [sys.executable, "-c", INSTALLING, str(int(number))],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip

    assert (ended.returncode, ended.stdout) == (128 + number, "cleaned up\n")
    assert ended.stderr.strip() == "interrupted; what was finished is kept"


def test_signals_after_a_run_do_not_change_the_exit_code():
    ended = subprocess.run(
        [sys.executable, "-c", SIGNALLED], capture_output=True, text=True, check=False, timeout=60
    )

    assert (ended.returncode, ended.stderr) == (128 + signal.SIGHUP, "")


@pytest.mark.parametrize("number", interrupts.SIGNALS)
def test_signals_after_a_run_are_dropped_by_a_function(number):
    """A signal that arrives while ``SIG_IGN`` is being set makes Python print a traceback."""

    async def work() -> None:
        signal.raise_signal(number)
        await asyncio.sleep(60)

    with interrupts.restored():
        assert asyncio.run(interrupts.until_signal(work())) == number
        handlers = [signal.getsignal(each) for each in interrupts.SIGNALS]
        signal.raise_signal(number)

    assert all(callable(handler) for handler in handlers)
    assert not {signal.SIG_IGN, signal.SIG_DFL} & set(handlers)
