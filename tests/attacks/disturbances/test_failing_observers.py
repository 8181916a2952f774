"""A trial whose observers fail is a harness error with a specific code, and the next trial is not affected."""

from __future__ import annotations

import asyncio
import time

import pytest

from harness.running import live_trial
from harness.running.campaign import Campaign
from harness.running.install import install
from harness.running.trial_runner import Execution
from harness.witness.begun import Begun
from harness.witness.relay import Relay

pytestmark = pytest.mark.jvm

HOUR_NS = 3_600 * 10**9


def dial_is_cancelled(monkeypatch, _):
    """Cancel the task of each connection through the witness before it has reached its broker."""
    connected = Relay.connected

    def cancelled(relay, side):
        connected(relay, side)
        if relay._dial is not None:
            relay._dial.cancel()

    # A real connection is never slow enough to be cancelled at this moment.
    monkeypatch.setattr(Relay, "connected", cancelled)


def reading_fails(monkeypatch, _):
    def fails(_, data):
        raise ZeroDivisionError(len(data))

    # No known bytes make the decoding of a frame fail.
    monkeypatch.setattr(Begun, "feed", fails)


def pulse_ends(_, trial):
    trial._pulse._beating.cancel()


def clock_goes_forward(_, trial):
    trial._pulse._wall_ns = lambda: time.time_ns() + HOUR_NS


def clock_goes_back(_, trial):
    trial._pulse._wall_ns = lambda: time.time_ns() - HOUR_NS


#: In the order of the trials. The witness that stops listening is last, because no trial can follow it on its lane.
DISTURBANCES = [
    (dial_is_cancelled, "witness-failed", "CancelledError()"),
    (reading_fails, "witness-failed", "ZeroDivisionError("),
    (pulse_ends, "pulse-ended", ""),
    (clock_goes_forward, "clock-stepped", "forward by 3,600.0"),
    (clock_goes_back, "clock-stepped", "back by 3,600.0"),
    (lambda *_: None, "held", ""),
    (
        lambda _, trial: trial._lane.witness._acceptors[0].stop(),
        "witness-failed",
        "lane 0",
    ),
]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_failing_observer_makes_its_trial_a_harness_error(planned, monkeypatch):
    store = planned(len(DISTURBANCES)).store
    names = [spec.trial for spec in store.record.plan.trials]
    hand_over, run = live_trial.LiveTrial._hand_over, Execution.run

    async def disturbed(trial, client, command):
        """Start the disturbance of this trial when its first records are handed over."""
        disturb, *_ = DISTURBANCES[names.index(trial._spec.trial)]
        if disturb not in begun:
            begun.append(disturb)
            disturb(patch, trial)
        await hand_over(trial, client, command)

    async def one(execution, index, spec, cluster, lane):
        try:
            return await run(execution, index, spec, cluster, lane)
        finally:
            patch.undo()

    begun = []
    with pytest.MonkeyPatch.context() as patch:
        # The campaign creates its trials itself, and a disturbance needs the one that is running.
        monkeypatch.setattr(live_trial.LiveTrial, "_hand_over", disturbed)
        monkeypatch.setattr(Execution, "run", one)
        clients = install(spec.client for spec in store.record.plan.trials)
        asyncio.run(Campaign(store, clients, 1, lambda _: None, lambda _: None).run())

    verdicts = {verdict.trial: verdict for verdict in store.verdicts()}
    for name, (_, code, datum) in zip(names, DISTURBANCES, strict=True):
        assert (verdicts[name].code, datum in verdicts[name].reason) == (code, True), verdicts[name].reason
        assert verdicts[name].verdict == ("pass" if code == "held" else "harness-error")
