"""The ``kafka-trial run`` line of a trial, made from its spec. There is one only if its plan is exactly that trial."""

from __future__ import annotations

import shlex

import msgspec

from harness.model.errors import KafkaTrialError
from harness.model.spec import TrialSpec
from harness.planning import selection, typed_settings
from harness.planning.plan import make_plan
from harness.planning.user_settings import parsed, written
from harness.text.commands import CLIENT_ENV


def run_command(spec: TrialSpec) -> str | None:
    """Return the ``kafka-trial run`` line whose plan is this trial, or None if no such line gives the same trial.

    There is none for a command, because such a line records the folder in which it is typed.
    """
    if spec.client.command:
        return None
    settings = [f"{name}={written(value)}" for name, value in spec.chosen.items()]
    try:
        again = _planned(spec, settings)
    except KafkaTrialError:
        return None
    stored = (msgspec.json.encode(typed_settings.stored_spec(each)) for each in (again, spec))
    return shlex.join(_argv(spec, settings)) if len(set(stored)) == 1 else None


def _planned(spec: TrialSpec, settings: list[str]) -> TrialSpec:
    [scenario] = selection.scenarios([spec.scenario], [spec.guarantee])
    user = parsed(settings, [spec.client])
    [planned] = make_plan([scenario], [spec.client], [spec.broker], [spec.seed], user).trials
    return planned


def _argv(spec: TrialSpec, settings: list[str]) -> list[str]:
    chosen = [word for each in settings for word in ("-X", each)]
    where = ["-b", spec.broker, "--seed", str(spec.seed), "--guarantee", spec.guarantee.value, *chosen]
    where += [word for name in spec.client.env for word in (CLIENT_ENV, name)]
    return ["kafka-trial", "run", spec.scenario, "-c", str(spec.client), *where]
