"""A pause of the harness that is longer than its pulse allows is never blamed on the client."""

from __future__ import annotations

import signal
import time

import pytest

from suites.analysis.disturbance import long_harness_stalls

pytestmark = pytest.mark.jvm

#: The length of the pause, which is longer than the threshold of a long stall.
STOPPED_S = 3.0


def test_paused_harness_is_recorded_and_not_blamed_on_client(planned):
    run = planned(1)
    process = run.start()
    run.under_load()
    process.send_signal(signal.SIGSTOP)
    time.sleep(STOPPED_S)
    process.send_signal(signal.SIGCONT)
    code, _ = run.ended()

    [(verdict, _)] = run.verdicts()
    assert code == {"pass": 0, "inconclusive": 4, "harness-error": 3}[verdict]
    evidence = run.store.read_evidence(run.trials[0])
    [stall] = long_harness_stalls(evidence)
    assert stall.length_ms >= STOPPED_S * 1000 - 100
    assert run.has_exports() and run.remaining() == []
