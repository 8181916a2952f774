"""A plan is the finite list of trials of a campaign and one seed: plain data, made by a pure function.

All that varies is drawn here and written down before anything runs: fault windows and settings. A plan can be printed,
stored and compared, and running it draws nothing. Trials differ along axes. One value of each axis is a cell, and a
cell with a seed is a trial.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from harness.model.dice import Dice
from harness.model.path_names import made_of
from harness.model.spec import ClientRef, Plan, TrialSpec
from harness.model.verdicts import Guarantee
from harness.planning.own_load import with_draw
from harness.planning.setting_values import takes
from harness.plugins import registry
from harness.plugins.scenario import Config, Scenario


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


@dataclass(frozen=True)
class Axes:
    """What trials differ in besides their seed. A campaign file adds ``generated`` and ``configurations``, by name."""

    scenarios: Sequence[Scenario]
    clients: Sequence[ClientRef]
    brokers: Sequence[str]
    generated: Mapping[str, Scenario] = field(default_factory=dict)
    configurations: Mapping[str, Config] = field(default_factory=lambda: {"": {}})

    @property
    def situations(self) -> dict[str, tuple[str, Scenario]]:
        """All situations by name: the name that a generated one has in its file (else empty), and its scenario."""
        named = {f"generated.{name}": (name, scenario) for name, scenario in self.generated.items()}
        return {scenario.name: ("", scenario) for scenario in self.scenarios} | named

    def cells(self) -> list[Cell]:
        """Return every possible combination."""
        fitting = [each for each in self._together() if each.conflict is None]
        return [
            Cell(broker, each.situation, each.guarantee, each.configuration, client)
            for broker in self.brokers
            for each in fitting
            for client in self.clients
        ]

    def left_out(self) -> list[Together]:
        """Return the combinations that are in no cell although each of their names was asked for."""
        return [each for each in self._together() if each.conflict is not None]

    def _together(self) -> Iterator[Together]:
        for situation, (_, scenario) in self.situations.items():
            for guarantee in scenario.guarantees:
                for name, chosen in self.configurations.items():
                    yield Together(situation, guarantee, name, _conflict(scenario, guarantee, chosen))


def _conflict(scenario: Scenario, guarantee: Guarantee, chosen: Config) -> str | None:
    """Return why these settings are impossible for the scenario, or None if they are possible."""
    kind = registry.workload(scenario.workload.kind)
    settings = kind.config(guarantee, scenario.config | chosen)
    for name, value in chosen.items():
        if name not in kind.settings or not takes(kind.settings[name], value):
            return f"the workload {kind.name} has no setting {name}, or not the value {value}"
        if scenario.config.get(name, value) != value:
            return f"the scenario sets {name} to {scenario.config[name]} itself"
        if settings[name] != value:
            return f"{guarantee} sets {name} to {settings[name]}"
    return kind.refused(settings) if chosen else None


def make_plan(
    scenarios: Sequence[Scenario], clients: Sequence[ClientRef], brokers: Sequence[str], seeds: Sequence[int]
) -> Plan:
    """Return a plan with every client on every broker in every scenario under each of its guarantees, once per seed."""
    axes = Axes(scenarios, clients, brokers)
    return plan_of(axes, axes.cells(), seeds)


def plan_of(axes: Axes, cells: Sequence[Cell], seeds: Sequence[int]) -> Plan:
    """Return a plan with these cells of ``axes``, once per seed.

    The schedule and the drawn settings depend on the seed and the situation alone: all clients, and all guarantees,
    meet the same faults.
    """
    situations = axes.situations
    trials = tuple(
        _trial(*situations[cell.situation], cell, axes.configurations[cell.configuration], seed)
        for seed in seeds
        for cell in cells
    )
    return Plan(seed=seeds[0] if seeds else 0, trials=trials)


def _trial(table: str, scenario: Scenario, cell: Cell, chosen: Config, seed: int) -> TrialSpec:
    stream = f"{scenario.name}/{table}" if table else scenario.name
    drawn = scenario.draw_config(Dice(seed, f"{stream}/config")) if scenario.draw_config else {}
    workload = scenario.workload
    if scenario.draw_workload:
        workload = scenario.draw_workload(Dice(seed, f"{stream}/workload"))
    kind = registry.workload(workload.kind)
    # The stream's name is that of the first setting that was drawn from it. Another name would change every plan.
    by_seed = kind.drawn(Dice(seed, f"{stream}/codec"))
    variant = "+".join(filter(None, (table, cell.configuration)))
    where = (cell.guarantee, str(cell.client), cell.broker.replace(":", "-"), f"s{seed}")
    label = "-".join(filter(None, (scenario.name.replace("/", "-"), variant, *where)))
    return TrialSpec(
        trial=made_of(label),
        client=cell.client,
        broker=cell.broker,
        scenario=scenario.name,
        guarantee=cell.guarantee,
        seed=seed,
        workload=with_draw(workload, seed),
        faults=scenario.schedule(Dice(seed, f"{stream}/schedule")),
        config=kind.config(cell.guarantee, by_seed | scenario.config | drawn | chosen),
        exclusive_cluster=scenario.exclusive_cluster,
        variant=variant,
    )
