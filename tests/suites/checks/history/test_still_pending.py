"""Results that never arrive, and the cases in which the client is not to blame."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pytest

from harness.model.contract import CRASHED, Fatal, OpComplete, OpInvoke
from harness.plugins.check import Inconclusive
from suites.checks.history import still_pending
from testkit.codes import raises_code
from tests.suites.story import LIMIT_MS, ns


@pytest.mark.parametrize("op", ["flush", "close"])
def test_completed_operation_leaves_nothing_pending(story, op):
    told = story(end_ms=100)
    told.call(0)
    told.finished(op, at_ms=50)

    (finding,) = still_pending.CHECK.run(told.evidence())
    assert finding.message == f"1 record never got a result, though {op} succeeded"


def test_record_past_its_limit_is_pending(story):
    told = story(end_ms=LIMIT_MS)
    told.call(0, 1)
    told.result(1, at_ms=5)
    told.finished("flush", at_ms=40_000, outcome="info")

    (finding,) = still_pending.CHECK.run(told.evidence())
    assert (finding.count, finding.samples[0]["n"]) == (1, 0)


def test_trial_that_ended_too_early_is_inconclusive(story):
    told = story(end_ms=LIMIT_MS - 100)
    told.call(0)

    with raises_code(Inconclusive, "time-left", left_ms=100):
        still_pending.CHECK.run(told.evidence())


def test_failed_flush_promises_nothing(story):
    told = story(end_ms=LIMIT_MS - 100)
    told.call(0)
    told.finished("flush", at_ms=40_000, outcome="info")

    with pytest.raises(Inconclusive):
        still_pending.CHECK.run(told.evidence())


def test_flush_before_the_call_promises_nothing(story):
    told = story(end_ms=LIMIT_MS - 100)
    told.finished("flush", at_ms=10)
    told.call(0, at_ms=50)

    with pytest.raises(Inconclusive):
        still_pending.CHECK.run(told.evidence())


def test_client_without_a_limit_is_not_overdue(story):
    told = story(end_ms=LIMIT_MS, not_set={"delivery.timeout.ms": "none"})
    told.call(0)

    with raises_code(Inconclusive, "no-limit", setting="delivery.timeout.ms"):
        still_pending.CHECK.run(told.evidence())


def test_client_that_ends_its_own_process_is_reported_at_once(story):
    """Before its delivery timeout: an ended process can give no result."""
    told = story()
    told.call(0, 1)
    told.result(0, at_ms=5, offset=told.deliver([0], 0, at_ms=1))
    evidence = told.evidence()
    crash = Fatal(
        seq=0, mono_ns=evidence.history[-1].mono_ns, wall_ns=0, error=CRASHED, message="out of bounds"
    )
    (finding,) = still_pending.CHECK.run(replace(evidence, history=(*evidence.history, crash)))
    assert (finding.anomaly, finding.count) == ("crashed", 1)
    assert crash.message in finding.message


def test_process_stalled_to_the_end_is_detected(story):
    told = story(shuts_down=False)
    told.call(0)
    told.beat(0, 1_000)
    told.finished("flush", at_ms=1_000)
    with raises_code(Inconclusive, "client-stalled", stalled_ms=6000):
        still_pending.CHECK.run(told.evidence())


def test_stall_before_the_call_does_not_excuse(story):
    told = story()
    told.beat(0, 4_000, 5_000, 6_000, 7_000)
    told.call(0, at_ms=5_500)
    told.finished("flush", at_ms=6_000)
    (finding,) = still_pending.CHECK.run(told.evidence())
    assert finding.anomaly == "still-pending"

    told.result(0, at_ms=7_500)
    (finding,) = still_pending.CHECK.run(told.evidence())
    assert finding.anomaly == "false-flush"


@pytest.mark.parametrize(
    ("beats", "is_doubted"), [((0, 4_000, 5_000, 6_000, 6_900), False), ((0, 1_000), True)]
)
def test_earlier_stall_excuses_only_if_it_lasted_to_the_end(story, beats, is_doubted):
    told = story(shuts_down=False)
    told.call(0)
    told.beat(*beats)
    told.result(0, at_ms=5)
    told.history.append(OpInvoke(seq=0, mono_ns=ns(told.final_ms + 10), wall_ns=0, op="close", id=99))
    with pytest.raises(Inconclusive) if is_doubted else nullcontext():
        (finding,) = still_pending.CHECK.run(told.evidence())
        assert finding.anomaly == "hung-call"


def test_stalled_broker_does_not_excuse_a_completed_flush(story):
    told = story()
    told.call(0)
    told.request([1], partition=0, at_ms=100)
    told.answer(0, 0, at_ms=3_000)
    told.finished("flush", at_ms=4_000)
    (finding,) = still_pending.CHECK.run(told.evidence())
    assert finding.message == "1 record never got a result, though flush succeeded"


def test_flush_completed_before_the_result_is_found(story):
    told = story()
    told.call(0)
    told.finished("flush", at_ms=50)
    told.result(0, at_ms=2_000)
    (finding,) = still_pending.CHECK.run(told.evidence())
    assert finding.anomaly == "false-flush"


@pytest.mark.parametrize("op", ["flush", "close"])
def test_call_that_never_returns_hangs(story, op):
    told = story()
    told.call(0)
    told.result(0, at_ms=5)
    told.finished(op, at_ms=50)
    told.history = [event for event in told.history if not (isinstance(event, OpComplete) and event.op == op)]
    told.history.append(OpInvoke(seq=0, mono_ns=told.history[0].mono_ns, wall_ns=0, op=op, id=99))
    (finding,) = still_pending.CHECK.run(told.evidence())
    assert (finding.anomaly, finding.count) == ("hung-call", 1)
