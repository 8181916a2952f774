"""The clients of one simulated trial: the producers of its load, or the members of a group."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from harness.model.contract import AnyEvent, Configure, Fatal
from harness.model.dice import Dice
from harness.model.errors import KafkaTrialError
from harness.model.evidence import PRODUCER
from harness.model.spec import TrialSpec
from harness.planning import unavailable
from harness.plugins import registry
from harness.plugins.workload import Config
from harness.simulated.lane import SimulatedLane
from harness.simulated.members import SimulatedMembers
from harness.simulated.network import Network
from harness.simulated.ports import Clock, SimulatedClient, SimulatedClientKind, SimulatedMember, Tell
from harness.simulated.producers import SimulatedProducers, heard_as


class ConfigNotAccepted(KafkaTrialError):
    """The client refuses its settings, or there are too few brokers: the trial is unsupported."""


class Casting:
    """Starts clients. ``hear`` takes their events, and ``next_id`` numbers commands."""

    def __init__(
        self,
        spec: TrialSpec,
        run_id: str,
        topic: str,
        clock: Clock,
        hear: Callable[[AnyEvent], None],
        next_id: Callable[[], int],
    ) -> None:
        self._spec, self._run_id, self._topic = spec, run_id, topic
        self._clock, self._hear, self._next_id = clock, hear, next_id
        self._workload = registry.workload(spec.workload.kind)

    def clients(
        self, kind: SimulatedClientKind, config: Config, network: Network, lane: SimulatedLane
    ) -> SimulatedProducers | SimulatedMembers:
        """Start and configure all clients with which the trial begins. Members have their first command."""
        workload, spec = self._workload, self._spec
        if workload.members is None or workload.begin is None:
            return self._producers(kind, config, network)

        if spec.companions:
            raise unavailable.companions_here(spec)

        def start(process: str, settings: Config, hear: Tell) -> SimulatedMember:
            return cast(SimulatedMember, self._started(kind, process, settings, network, hear))

        members = lane.members = SimulatedMembers(
            network,
            lane.cluster,
            start,
            config,
            workload.begin(spec, self._topic),
            self._topic,
            self._hear,
            self._next_id,
            partitions=spec.workload.partitions,
            is_static=bool(spec.workload.params.get("static")),
            upgrades=spec.upgrades,
        )
        for place in workload.members(spec):
            members.begin(place)
        return members

    def _producers(self, kind: SimulatedClientKind, config: Config, network: Network) -> SimulatedProducers:
        producers, names = SimulatedProducers(network), self._spec.workload.shape.names

        def hear(event: AnyEvent) -> None:
            producers.heard(event)
            self._hear(event)

        for name in names:
            own = {**config, **self._workload.identity(self._topic, name), "client.id": name}
            started = self._started(kind, name, own, network, heard_as(names, name, hear))
            producers.add(name, cast(SimulatedClient, started))
        return producers

    def _started(
        self, kind: SimulatedClientKind, name: str, config: Config, network: Network, hear: Tell
    ) -> SimulatedClient | SimulatedMember:
        """Start a client with these settings."""
        spec, refusal = self._spec, ""
        configure = Configure(self._next_id(), self._run_id, name, self._workload.role, config)
        dice = Dice(spec.seed, f"{spec.scenario}/client" + ("" if name == PRODUCER else f"/{name}"))

        def heard(event: AnyEvent) -> None:
            nonlocal refusal
            if isinstance(event, Fatal):
                refusal = event.message
            hear(event)

        client = kind.simulated(configure, network, self._clock, dice, heard)
        if client is None:
            raise ConfigNotAccepted(
                "config-refused",
                "{client} refuses its configuration: {message}",
                client=spec.client,
                message=refusal,
            )
        return client
