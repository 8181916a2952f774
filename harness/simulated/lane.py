"""Everything that a fault can control in simulated mode: proxies, witness, brokers, topic, time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.model.spec import FaultSpec, FrameMatch
from harness.simulated.proxy import SimulatedProxy
from harness.simulated.scheduler import Scheduler
from harness.witness.actions import Action
from harness.witness.rules import FrameRules

if TYPE_CHECKING:
    from harness.brokers.scripted.cluster import ScriptedCluster
    from harness.simulated.members import SimulatedMembers


@dataclass
class SimulatedLane:
    """The one lane of a simulated trial."""

    proxies: tuple[SimulatedProxy, ...]
    cluster: ScriptedCluster
    topic: str
    scheduler: Scheduler
    rules: FrameRules
    #: The group once its members start, or None if the clients produce.
    members: SimulatedMembers | None = None

    @property
    def now_ns(self) -> int:
        """Return the virtual time."""
        return self.scheduler.now_ns

    def on(self, spec: FaultSpec) -> Iterator[SimulatedProxy]:
        """Yield the proxies of the brokers that a fault names, or all proxies."""
        return (proxy for proxy in self.proxies if not spec.brokers or proxy.node_id in spec.brokers)

    def arm(self, name: str, match: FrameMatch, action: Action, brokers: tuple[int, ...] = ()) -> None:
        """As :meth:`harness.witness.lane.WitnessLane.arm`."""
        self.rules.arm(name, match, action, brokers)

    def disarm(self, name: str) -> None:
        """As :meth:`harness.witness.lane.WitnessLane.disarm`."""
        self.rules.disarm(name)
        for proxy in self.proxies:
            for connection in tuple(proxy.connections):
                connection.rules_changed()

    def settle(self) -> None:
        """Apply a change: a dead broker loses its connections, and data in flight gets a new time."""
        for proxy in self.proxies:
            if not self.cluster.accepts(proxy.node_id):
                proxy.broker_gone()
            proxy.retime()

    def touched(self, name: str) -> int:
        """Return how often the fault of that name affected something that only the proxies see."""
        return sum(proxy.touched[name] for proxy in self.proxies)
