"""A scenario: a named situation, the guarantees under which it is tried, and how its fault shows.

A scenario names the consequence that shows that its fault took effect. If the consequence is not seen, the verdict is
not-exercised: a fault that did not fire proves nothing about the client (methodology section 4, "fault-bit
accounting").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from harness.model.dice import Dice
from harness.model.evidence import Evidence
from harness.model.mode import BOTH_MODES, Mode
from harness.model.spec import FaultSpec, Workload
from harness.model.verdicts import Guarantee

Config = dict[str, str | int | bool]

DEFAULT_WORKLOAD = Workload()


@dataclass(frozen=True)
class Consequence:
    """How often the expected effect was seen, and a sentence that says what was counted."""

    count: int
    what: str


@dataclass(frozen=True)
class Scenario:
    """One named situation. ``schedule`` draws its faults; ``consequence`` counts their effect in the evidence.

    ``exercises`` are the behaviour ids that the situation is designed for; every check that can judge it does so.
    ``config`` overrides the profile, in the Java names, and ``draw_config`` overrides that. ``draw_workload`` replaces
    ``workload``. With ``require_all_faults`` False, one fault that hit something is enough, since its faults are
    random. ``exclusive_cluster`` requests a dedicated cluster, and ``opt_in`` excludes the scenario from a selection
    that names none. ``needs_brokers`` and ``needs_in_flight`` are the minimum number of brokers of the cluster and of
    requests in flight on a connection of the client. With fewer the situation cannot arise, and the trial is
    unsupported. ``companions`` are the names of clients that are in the group besides the client under test, at their
    default versions; the one that is itself under test has no second place. ``upgrades`` are what the second, third,
    ... process in each place of the group changes in ``config``: an upgrade, for which the faults restart the members.
    """

    name: str
    summary: str
    schedule: Callable[[Dice], tuple[FaultSpec, ...]]
    consequence: Callable[[Evidence], Consequence]
    exercises: tuple[str, ...] = ()
    guarantees: tuple[Guarantee, ...] = (Guarantee.AT_LEAST_ONCE, Guarantee.IDEMPOTENT)
    workload: Workload = DEFAULT_WORKLOAD
    config: Config = field(default_factory=dict)
    draw_config: Callable[[Dice], Config] | None = None
    draw_workload: Callable[[Dice], Workload] | None = None
    require_all_faults: bool = True
    modes: frozenset[Mode] = BOTH_MODES
    opt_in: bool = False
    exclusive_cluster: bool = False
    needs_brokers: int = 1
    needs_in_flight: int = 1
    companions: tuple[str, ...] = ()
    upgrades: tuple[Config, ...] = ()

    @property
    def needs(self) -> list[str]:
        """The requirements for more than one broker or request in flight, in words."""
        counts = {"brokers": self.needs_brokers, "requests in flight": self.needs_in_flight}
        return [f"{least} {what}" for what, least in counts.items() if least > 1]
