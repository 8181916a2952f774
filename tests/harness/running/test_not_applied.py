"""What a client reports as not applied is told as soon as it says so, once for all of its trials."""

from __future__ import annotations

import asyncio

import pytest

from harness.running import trial_runner
from harness.running.trial_runner import Execution


class Ended(Exception):
    """Ends a trial after the client has reported its settings."""


class Client:
    """A trial whose client reports that it cannot apply a setting, and then goes away."""

    def __init__(self, tell_not_set, **_):
        self.tell_not_set = tell_not_set


@pytest.fixture
def told(monkeypatch, run_of, verdict):
    """Return what the user reads while two trials of a client run."""

    async def collect(self, trial, lane, spec):
        trial.tell_not_set({"linger.ms": "it sends at once"})
        raise Ended

    monkeypatch.setattr(trial_runner, "LiveTrial", Client)
    monkeypatch.setattr(Execution, "_collect", collect)
    store = trial_runner.RunStore.open(run_of("run", verdict(), verdict(seed=2)))
    specs, said = store.record.plan.trials, []
    execution = Execution(store, {spec.client: None for spec in specs}, said.append)
    for index, spec in enumerate(specs):
        with pytest.raises(Ended):
            asyncio.run(execution.run(index, spec, None, None))
    return said


def test_a_setting_that_a_client_does_not_apply_is_told_once(told):
    assert told == ["warning: c@1 does not get linger.ms: it sends at once"]
