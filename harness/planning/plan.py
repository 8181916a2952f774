"""A plan is the finite list of trials of a campaign and one seed: plain data, made by a pure function.

All that varies is drawn here and written down before anything runs: fault windows and settings. A plan can be printed,
stored and compared, and running it draws nothing. Trials differ along axes. One value of each axis is a cell, and a
cell with a seed is a trial.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec.structs import replace

from harness.model.dice import Dice
from harness.model.errors import UsageError
from harness.model.path_names import LONGEST, made_of, shortened
from harness.model.spec import ClientRef, Origin, Plan, TrialSpec
from harness.model.verdicts import Guarantee
from harness.planning.companions import companions
from harness.planning.own_load import OwnLoad, lines_of, loaded, with_draw
from harness.planning.setting_values import takes
from harness.planning.unavailable import IN_FLIGHT
from harness.planning.user_settings import MOST_CHARS, NONE, UserSettings, written
from harness.plugins import registry
from harness.plugins.scenario import Config, Scenario
from harness.plugins.workload import WorkloadKind


class SettingsConflict(UsageError):
    """The settings that the user chose are impossible in every trial that was asked for."""


class Cell(NamedTuple):
    """One value of each axis, by name. A situation is a scenario, or a schedule that a campaign file generates."""

    broker: str
    situation: str
    guarantee: Guarantee
    configuration: str
    client: ClientRef


class Together(NamedTuple):
    """The values of a cell except broker and client, and the ``conflict`` that makes them impossible, if any."""

    situation: str
    guarantee: Guarantee
    configuration: str
    conflict: str | None

    @property
    def told(self) -> str:
        """The situation and the guarantee."""
        return f"{self.situation} {self.guarantee}"


@dataclass(frozen=True)
class Axes:
    """What trials differ in besides their seed. A campaign file adds ``generated`` and ``configurations``, by name.

    ``user`` are the settings of a command line, which override those of every configuration.
    """

    scenarios: Sequence[Scenario]
    clients: Sequence[ClientRef]
    brokers: Sequence[str]
    generated: Mapping[str, Scenario] = field(default_factory=dict)
    configurations: Mapping[str, Config] = field(default_factory=lambda: {"": {}})
    user: UserSettings = NONE

    @property
    def situations(self) -> dict[str, tuple[str, Scenario]]:
        """All situations by name: the name that a generated one has in its file (else empty), and its scenario."""
        named = {f"generated.{name}": (name, scenario) for name, scenario in self.generated.items()}
        return {scenario.name: ("", scenario) for scenario in self.scenarios} | named

    def cells(self) -> list[Cell]:
        """Return every possible combination."""
        fitting = [each for each in self.together() if each.conflict is None]
        return [
            Cell(broker, each.situation, each.guarantee, each.configuration, client)
            for broker in self.brokers
            for each in fitting
            for client in self.clients
        ]

    def left_out(self) -> list[Together]:
        """Return the combinations that are in no cell although each of their names was asked for."""
        return [each for each in self.together() if each.conflict is not None]

    def together(self) -> Iterator[Together]:
        """Yield every combination except clients and brokers, possible or not."""
        for situation, (_, scenario) in self.situations.items():
            for guarantee in scenario.guarantees:
                for name, chosen in self.configurations.items():
                    conflict = conflict_of(scenario, guarantee, chosen | self.user.java)
                    yield Together(situation, guarantee, name, conflict)


def conflict_of(scenario: Scenario, guarantee: Guarantee, chosen: Config) -> str | None:
    """Return why these settings are impossible for the scenario, or None if they are possible."""
    kind = registry.workload(scenario.workload.kind)
    settings = kind.config(guarantee, scenario.config | chosen)
    for name, value in chosen.items():
        if name not in kind.settings or not takes(kind.settings[name], value):
            return f"the workload {kind.name} has no setting {name}, or not the value {value}"
        if scenario.config.get(name, value) != value:
            return f"the scenario sets {name} to {written(scenario.config[name])} itself"
        if any(name in change for change in scenario.upgrades):
            return f"the scenario changes {name} itself"
        if settings[name] != value:
            return f"{guarantee} sets {name} to {written(settings[name])}"
        if name == IN_FLIGHT and int(value) < scenario.needs_in_flight:
            return f"the scenario needs {scenario.needs_in_flight} requests in flight on a connection"
    return kind.refused(settings) if chosen else None


def make_plan(
    scenarios: Sequence[Scenario],
    clients: Sequence[ClientRef],
    brokers: Sequence[str],
    seeds: Sequence[int],
    user: UserSettings = NONE,
) -> Plan:
    """Return a plan with every client on every broker in every scenario under each of its guarantees, once per seed.

    Raise UsageError if the user's settings are impossible in all of them.
    """
    return chosen_plan(Axes(scenarios, clients, brokers, user=user), seeds)


def chosen_plan(axes: Axes, seeds: Sequence[int]) -> Plan:
    """Return the plan with all cells. Raise UsageError if the user's settings leave none."""
    cells, left_out = axes.cells(), axes.left_out()
    if left_out and not cells:
        raise SettingsConflict(
            "settings-conflict",
            "no trial is possible with {settings}: {why}",
            settings=" ".join(f"-X {each}" for each in axes.user.options()),
            why="; ".join(excluded(left_out)),
        )
    return plan_of(axes, cells, seeds)


def excluded(left_out: Iterable[Together]) -> Iterator[str]:
    """Yield a sentence for each conflict: what it excludes, and why."""
    grouped: dict[tuple[str, str], list[Together]] = {}
    for each in left_out:
        grouped.setdefault((each.configuration, each.conflict or ""), []).append(each)
    for (configuration, conflict), found in grouped.items():
        of = f"{configuration} with " if configuration else ""
        yield f"{of}{', '.join(dict.fromkeys(each.told for each in found))} ({conflict})"


def plan_of(axes: Axes, cells: Sequence[Cell], seeds: Sequence[int]) -> Plan:
    """Return a plan with these cells of ``axes``, once per seed.

    The schedule and the drawn settings depend on the seed and the situation alone: all clients, and all guarantees,
    meet the same faults.
    """
    situations = axes.situations
    trials = tuple(
        _trial(*situations[cell.situation], cell, axes.configurations[cell.configuration], axes.user, seed)
        for seed in seeds
        for cell in cells
    )
    return Plan(seed=seeds[0] if seeds else 0, trials=trials)


def _trial(
    table: str, scenario: Scenario, cell: Cell, configured: Config, user: UserSettings, seed: int
) -> TrialSpec:
    stream = f"{scenario.name}/{table}" if table else scenario.name
    drawn = scenario.draw_config(Dice(seed, f"{stream}/config")) if scenario.draw_config else {}
    workload = scenario.workload
    if scenario.draw_workload:
        workload = scenario.draw_workload(Dice(seed, f"{stream}/workload"))
    kind = registry.workload(workload.kind)
    # The stream's name is that of the first setting that was drawn from it. Another name would change every plan.
    by_seed = kind.drawn(Dice(seed, f"{stream}/codec"))
    variant = "+".join(filter(None, (table, cell.configuration, user.name)))
    chosen = configured | user.java
    asked = by_seed | scenario.config | drawn | chosen
    config = kind.config(cell.guarantee, asked)
    origins = (
        dict.fromkeys(by_seed, Origin.SEED)
        | dict.fromkeys(scenario.config, Origin.SCENARIO)
        | dict.fromkeys(drawn, Origin.SEED)
        | dict.fromkeys(chosen, Origin.USER)
        | dict.fromkeys(_decided(kind, cell.guarantee, asked), Origin.GUARANTEE)
    )
    where = "-".join((cell.guarantee, str(cell.client), cell.broker.replace(":", "-"), f"s{seed}"))
    what = "-".join(filter(None, (scenario.name.replace("/", "-"), variant)))
    label = f"{shortened(what, max(MOST_CHARS, LONGEST - len(where) - 1))}-{where}"
    return TrialSpec(
        trial=made_of(label),
        client=cell.client,
        broker=cell.broker,
        scenario=scenario.name,
        guarantee=cell.guarantee,
        seed=seed,
        workload=with_draw(workload, seed),
        faults=scenario.schedule(Dice(seed, f"{stream}/schedule")),
        config=config,
        exclusive_cluster=scenario.exclusive_cluster,
        variant=variant,
        client_config=dict(user.own.get(cell.client.name, {})),
        origins={name: str(origin) for name, origin in sorted(origins.items())},
        companions=companions(scenario, cell.client),
        upgrades=tuple(
            _change(config, kind.config(cell.guarantee, asked | each)) for each in scenario.upgrades
        ),
    )


def _change(before: Config, after: Config) -> dict[str, str | int | bool | None]:
    """Return what turns these settings into those; None takes one away."""
    return {
        name: after.get(name) for name in sorted({**before, **after}) if before.get(name) != after.get(name)
    }


def _decided(kind: WorkloadKind, guarantee: Guarantee, asked: Config) -> list[str]:
    """Return the settings that have another value than was asked for, or would have under another guarantee."""
    config, others = kind.config(guarantee, asked), [kind.config(other, asked) for other in kind.features]
    return [
        name
        for name, value in config.items()
        if asked.get(name, value) != value
        or (name not in asked and any(other.get(name) != value for other in others))
    ]


def with_load(spec: TrialSpec, own: OwnLoad | None) -> TrialSpec:
    """Return a trial with the user's own load, under another name."""
    if own is None:
        return spec
    workload = with_draw(loaded(own, spec.workload, lines_of(own)), spec.seed)
    return replace(spec, trial=made_of(f"{spec.trial}+load"), workload=workload)


def with_settings(spec: TrialSpec, user: UserSettings) -> TrialSpec:
    """Return a trial with other settings, under another name. Raise UsageError if they are impossible for it."""
    if not user:
        return spec
    scenario = registry.scenario(spec.scenario)
    kind = registry.workload(spec.workload.kind)
    config = kind.config(spec.guarantee, spec.config | user.java)
    conflict = conflict_of(scenario, spec.guarantee, user.java) or kind.refused(config)
    if conflict is not None:
        raise SettingsConflict(
            "settings-conflict",
            "no trial is possible with {settings}: {why}",
            settings=" ".join(f"-X {each}" for each in user.options()),
            why=f"{spec.scenario} {spec.guarantee} ({conflict})",
        )
    return replace(
        spec,
        trial=made_of(f"{spec.trial}+{user.name}"),
        config=config,
        variant="+".join(filter(None, (spec.variant, user.name))),
        client_config={**spec.client_config, **user.own.get(spec.client.name, {})},
        origins=dict(sorted((spec.origins | dict.fromkeys(user.java, Origin.USER.value)).items())),
    )
