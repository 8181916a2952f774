"""A pause of the harness that is longer than its pulse allows is never blamed on the client."""

from __future__ import annotations

import signal
import time

import pytest

from suites.analysis.disturbance import long_harness_stalls

pytestmark = pytest.mark.jvm


@pytest.mark.parametrize("stopped_s", [3.0, pytest.param(30.0, marks=pytest.mark.extended)])
def test_paused_harness_is_recorded_and_not_blamed_on_client(planned, stopped_s):
    """Each is longer than the threshold of a long stall."""
    run = planned(1)
    process = run.start()
    run.under_load()
    process.send_signal(signal.SIGSTOP)
    time.sleep(stopped_s)
    process.send_signal(signal.SIGCONT)
    code, _ = run.ended()

    [(verdict, _)] = run.verdicts()
    assert code == {"pass": 0, "inconclusive": 4, "harness-error": 3}[verdict]
    evidence = run.store.read_evidence(run.trials[0])
    [stall] = long_harness_stalls(evidence)
    assert stall.length_ms >= stopped_s * 1000 - 100
    assert run.has_exports() and run.remaining() == []
