"""Signals to the harness: what was finished is kept and exported, nothing is left, and the run can be gone on with."""

from __future__ import annotations

import os
import pty
import signal

import pytest

pytestmark = pytest.mark.jvm


def test_a_hangup_in_mid_run_keeps_and_exports_what_was_finished(planned):
    run = planned(2)
    process = run.start()
    run.under_load(1)
    process.send_signal(signal.SIGHUP)
    code, said = run.ended()

    assert code == 128 + signal.SIGHUP
    assert "1 of 2 trials were not run (interrupted)" in said and "run --resume" in said
    assert run.verdicts() == [("pass", "held")] and run.has_exports()
    assert run.left() == []
    assert run.carried_out()[0] == 0
    assert run.verdicts() == [("pass", "held")] * 2 and run.has_exports()


def test_signals_without_end_are_no_reason_to_lose_the_exports(planned):
    """An impatient user; a service manager that sends SIGHUP behind SIGTERM."""
    run = planned(1)
    process = run.start()
    run.under_load()
    while process.poll() is None and not (run.store.folder / "summary.md").exists():
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            process.send_signal(number)
    code, said = run.ended()

    assert code - 128 in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT), said
    assert run.verdicts() == [] and run.has_exports() and run.left() == []


def test_a_terminal_that_goes_away_is_no_reason_to_lose_the_exports(planned):
    run = planned(1)
    ours, theirs = pty.openpty()
    process = run.start(stdout=theirs, stderr=theirs, stdin=theirs)
    os.close(theirs)
    run.under_load()
    os.close(ours)  # from now on whoever writes to the terminal gets an error
    process.send_signal(signal.SIGHUP)
    assert process.wait() == 128 + signal.SIGHUP
    assert run.verdicts() == [] and run.has_exports() and run.left() == []
