"""The command line that runs a trial again, made from its spec. There is one only if it gives exactly that trial."""

from __future__ import annotations

import shlex

from harness.model.errors import KafkaTrialError
from harness.model.spec import TrialSpec, own_name
from harness.planning import selection, typed_settings
from harness.planning.plan import make_plan
from harness.planning.user_settings import UserSettings, parsed, written

#: The fields of a spec that decide what happens in the trial.
DECISIVE = (
    "client",
    "broker",
    "scenario",
    "guarantee",
    "seed",
    "workload",
    "faults",
    "config",
    "client_config",
)


def run_command(spec: TrialSpec) -> str | None:
    """Return the ``kafka-trial run`` line whose plan is this trial, or None if no such line gives the same trial."""
    try:
        plain = _planned(spec, UserSettings())
        changed = {name: value for name, value in spec.config.items() if plain.config.get(name) != value}
        own = {own_name(spec.client.name, key): value for key, value in spec.client_config.items()}
        settings = [f"{name}={written(value)}" for name, value in {**changed, **own}.items()]
        again = _planned(spec, parsed(settings, [spec.client])) if settings else plain
    except KafkaTrialError:
        return None
    stored = typed_settings.stored_spec(spec)
    if any(getattr(again, field) != getattr(stored, field) for field in DECISIVE):
        return None
    return shlex.join(_argv(spec, settings))


def _planned(spec: TrialSpec, user: UserSettings) -> TrialSpec:
    [scenario] = selection.scenarios([spec.scenario], [spec.guarantee])
    [planned] = make_plan([scenario], [spec.client], [spec.broker], [spec.seed], user).trials
    return planned


def _argv(spec: TrialSpec, settings: list[str]) -> list[str]:
    chosen = [word for each in settings for word in ("-X", each)]
    where = ["-b", spec.broker, "--seed", str(spec.seed), "--guarantee", spec.guarantee.value, *chosen]
    if spec.client.command:
        return ["kafka-trial", "run", spec.scenario, *where, "--", *spec.client.command]
    return ["kafka-trial", "run", spec.scenario, "-c", str(spec.client), *where]
