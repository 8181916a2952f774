"""A trial whose observers fail is a harness error with a specific code, and the next trial is not affected."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from harness.running.campaign import Campaign
from harness.running.install import install
from harness.running.producers import Producers
from harness.running.trial_runner import Execution
from harness.system import pulse
from harness.witness.begun import Begun
from harness.witness.relay import DIAL, Relay

pytestmark = pytest.mark.jvm

HOUR_NS = 3_600 * 10**9


def cancel_tasks(name):
    for task in asyncio.all_tasks():
        if task.get_name() == name:
            task.cancel()


def dial_is_cancelled(monkeypatch, _):
    """Cancel the task of each connection through the witness before it has reached its broker."""
    connected = Relay.connected

    def cancelled(relay, side):
        connected(relay, side)
        cancel_tasks(DIAL)

    # A real connection is never slow enough to be cancelled at this moment.
    monkeypatch.setattr(Relay, "connected", cancelled)


def reading_fails(monkeypatch, _):
    def fails(_, data):
        raise ZeroDivisionError(len(data))

    # No known bytes make the decoding of a frame fail.
    monkeypatch.setattr(Begun, "feed", fails)


def pulse_ends(*_):
    cancel_tasks(pulse.TASK)


def clock_steps_by(step_ns):
    """Return a disturbance that adds ``step_ns`` to each reading of the wall clock."""

    def disturb(monkeypatch, _):
        looked = pulse.Pulse.looked

        def stepped(each, before_ns, wall_ns, after_ns):
            looked(each, before_ns, wall_ns + step_ns, after_ns)

        # Only root can set the clock of the machine, and every other process would be affected.
        monkeypatch.setattr(pulse.Pulse, "looked", stepped)

    return disturb


def witness_stops_listening(_, lane):
    lane.witness.acceptors[0].stop()


#: In the order of the trials. The witness that stops listening is last, because no trial can follow it on its lane.
DISTURBANCES = [
    (dial_is_cancelled, "witness-failed", "CancelledError()"),
    (reading_fails, "witness-failed", "ZeroDivisionError("),
    (pulse_ends, "pulse-ended", ""),
    (clock_steps_by(HOUR_NS), "clock-stepped", "forward by 3,600.0"),
    (clock_steps_by(-HOUR_NS), "clock-stepped", "back by 3,600.0"),
    (lambda *_: None, "held", ""),
    (witness_stops_listening, "witness-failed", "lane 0"),
]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_failing_observer_makes_its_trial_a_harness_error(planned, monkeypatch):
    store = planned(len(DISTURBANCES)).store
    names = [spec.trial for spec in store.record.plan.trials]
    load, run = Producers.load, Execution.run
    waiting = []

    async def disturbed(producers, name, command):
        """Start the disturbance of this trial when its first records are handed over."""
        while waiting:
            waiting.pop()()
        await load(producers, name, command)

    async def one(execution, index, spec, cluster, lane):
        disturb, *_ = DISTURBANCES[names.index(spec.trial)]
        waiting.append(partial(disturb, patch, lane))
        try:
            return await run(execution, index, spec, cluster, lane)
        finally:
            patch.undo()

    with pytest.MonkeyPatch.context() as patch:
        # The campaign creates its trials itself, and a disturbance needs the lane of the one that is running.
        monkeypatch.setattr(Producers, "load", disturbed)
        monkeypatch.setattr(Execution, "run", one)
        clients = install(spec.client for spec in store.record.plan.trials)
        asyncio.run(Campaign(store, clients, 1, lambda _: None, lambda _: None).run())

    verdicts = {verdict.trial: verdict for verdict in store.verdicts()}
    for name, (_, code, datum) in zip(names, DISTURBANCES, strict=True):
        assert (verdicts[name].code, datum in verdicts[name].reason) == (code, True), verdicts[name].reason
        assert verdicts[name].verdict == ("pass" if code == "held" else "harness-error")
