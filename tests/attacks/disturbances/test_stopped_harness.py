"""A harness that stands still for longer than its pulse allows: nothing is held against the client."""

from __future__ import annotations

import signal
import time

import pytest

from suites.analysis.disturbance import long_harness_stalls

pytestmark = pytest.mark.jvm

#: The disturbance itself: longer than what is counted as a long stall.
STOPPED_S = 3.0


def test_a_stopped_harness_is_told_in_the_evidence_and_accuses_nobody(planned):
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
    assert run.has_exports() and run.left() == []
