"""Generated trials: which spec belongs to the n-th seed. A pure function, so that a seed determines a trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from harness.model.dice import Dice
from harness.model.spec import ClientRef, TrialSpec
from harness.planning.plan import Axes, chosen_plan, make_plan
from harness.planning.user_settings import NONE, UserSettings
from harness.plugins.scenario import Scenario

BROKER_VERSION = "4.3.1"
NODES = (1, 3)


def drawn_broker(seed: int, least: int = 1) -> str:
    """Return a drawn cluster of one to three nodes, with at least ``least``."""
    low, high = NODES
    return f"scripted:{BROKER_VERSION}x{Dice(seed, 'broker').between(max(low, least), high)}"


def possible(scenario: Scenario, user: UserSettings) -> Scenario:
    """Return the scenario with the guarantees for which the user's settings are possible.

    Raise UsageError if there are none.
    """
    axes = Axes([scenario], (), (), user=user)
    fitting = tuple(each.guarantee for each in axes.together() if each.conflict is None)
    if not fitting:
        chosen_plan(axes, ())
    return replace(scenario, guarantees=fitting)


def spec_of(
    scenario: Scenario,
    client: ClientRef,
    seed: int,
    broker: str | None = None,
    user: UserSettings = NONE,
) -> TrialSpec:
    """Return the trial of a seed.

    Its guarantee cycles through those of the scenario. Its broker is drawn unless given.
    """
    guarantee = scenario.guarantees[seed % len(scenario.guarantees)]
    once = replace(scenario, guarantees=(guarantee,))
    [spec] = make_plan(
        [once], [client], [broker or drawn_broker(seed, scenario.needs_brokers)], [seed], user
    ).trials
    return spec


def specs(
    scenario: Scenario,
    clients: Sequence[ClientRef],
    seeds: Sequence[int],
    broker: str | None = None,
    user: UserSettings = NONE,
) -> Iterator[TrialSpec]:
    """Return the trials of several seeds, the same one for every client."""
    return (spec_of(scenario, client, seed, broker, user) for seed in seeds for client in clients)
