"""What a fault may lay its hands on in simulated mode: proxies, witness, brokers, topic, time."""

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


@dataclass(frozen=True)
class SimulatedLane:
    """The one lane of a simulated trial."""

    proxies: tuple[SimulatedProxy, ...]
    cluster: ScriptedCluster
    topic: str
    scheduler: Scheduler
    rules: FrameRules

    @property
    def now_ns(self) -> int:
        """The virtual time."""
        return self.scheduler.now_ns

    def on(self, spec: FaultSpec) -> Iterator[SimulatedProxy]:
        """The proxies that a fault is for: of the brokers it names, or all."""
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
        """After a change: a dead broker has no connections, and what is under way meets the network as it is."""
        for proxy in self.proxies:
            if not self.cluster.accepts(proxy.node_id):
                proxy.broker_gone()
            proxy.retime()

    def touched(self, name: str) -> int:
        """How often the fault of that name met something that only the proxies see."""
        return sum(proxy.touched[name] for proxy in self.proxies)
