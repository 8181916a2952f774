"""A run that is ended by signals exports its finished trials, leaves no process, and can be resumed."""

from __future__ import annotations

import os
import pty
import re
import signal

import pytest

pytestmark = pytest.mark.jvm


def test_run_ended_by_sighup_exports_finished_trials(planned):
    run = planned(2)
    process = run.start()
    run.under_load(1)
    process.send_signal(signal.SIGHUP)
    code, stderr = run.ended()

    assert code == 128 + signal.SIGHUP
    assert re.search(r"\b1 of 2\b.*\(interrupted\)", stderr) and "run --resume" in stderr
    assert run.verdicts() == [("pass", "held")] and run.has_exports()
    assert run.remaining() == []
    assert run.execute()[0] == 0
    assert run.verdicts() == [("pass", "held")] * 2 and run.has_exports()


def test_repeated_signals_do_not_prevent_exports(planned):
    """For example, a user presses Ctrl-C repeatedly, or a service manager sends SIGHUP after SIGTERM."""
    run = planned(1)
    process = run.start()
    run.under_load()
    while process.poll() is None and not (run.store.folder / "summary.md").exists():
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            process.send_signal(number)
    code, stderr = run.ended()

    assert code - 128 in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT), stderr
    assert run.verdicts() == [] and run.has_exports() and run.remaining() == []


def test_closed_terminal_does_not_prevent_exports(planned):
    run = planned(1)
    ours, theirs = pty.openpty()
    process = run.start(stdout=theirs, stderr=theirs, stdin=theirs)
    os.close(theirs)
    run.under_load()
    os.close(ours)  # every write to the terminal now fails
    process.send_signal(signal.SIGHUP)
    assert process.wait() == 128 + signal.SIGHUP
    assert run.verdicts() == [] and run.has_exports() and run.remaining() == []
