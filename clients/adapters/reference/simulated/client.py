"""The client for simulated mode: commands go to its application, and steps run rounds of its core."""

from __future__ import annotations

from clients.adapters.reference.simulated.application import Application, Producer
from clients.adapters.reference.simulated.events import Events
from clients.adapters.reference.simulated.selector import SimulatedSelector
from clients.reference.config.producer_config import ProducerConfig
from clients.reference.network.channel import Channel
from clients.reference.producer.producer import Components, ProducerCore
from clients.reference.telemetry.trace import TraceEvent
from harness.model.contract import Close, Flush, LoadCommand
from harness.model.dice import Dice
from harness.simulated.network import Network
from harness.simulated.scheduler import NS_PER_MS
from harness.workloads.produce.commands import Produce
from harness.workloads.transactions.commands import Transact

#: After this many rounds at one time the client is spinning. A real one would only be busy, so time advances by 1 ms.
SPINNING_ROUNDS = 64


class SimulatedReference:
    """See :class:`harness.simulated.ports.SimulatedClient`."""

    def __init__(
        self,
        config: ProducerConfig,
        network: Network,
        dice: Dice,
        events: Events,
        components: Components | None,
    ) -> None:
        self.trace: list[TraceEvent] = []
        self._events = events

        def made() -> Producer:
            selector = SimulatedSelector(network, components.channel if components else Channel)
            core = ProducerCore(
                config,
                selector,
                jitter=lambda: dice.between(-1_000_000, 1_000_000) / 1_000_000,
                trace=self.trace.append,
                components=components,
            )
            return Producer(core, selector)

        self._application = Application(made, config.max_block_ms, events)
        self._due_ns: int | None = events.now_ns

    # Commands

    def load(self, command: LoadCommand) -> None:
        """Send the records of a ``produce`` or a ``transact``; other workloads are not for a producer."""
        assert isinstance(command, Produce | Transact)
        self._application.commands.append(command)

    def flush(self, command: Flush) -> None:
        """Wait for the results of all records sent before."""
        self._application.commands.append(command)

    def close(self, command: Close) -> None:
        """Close the client."""
        self._application.commands.append(command)

    # Time

    def step(self, now_ns: int) -> int | None:
        """Do everything that is due now. Return when the next call is due."""
        application, events = self._application, self._events
        if application.has_ended:
            return None
        events.now_ns = now_ns
        due_ns, wake_ns = self._due_ns, application.wake_ns
        if (
            application.producer.selector.has_news
            or application.commands
            or (due_ns is not None and due_ns <= now_ns)
            or (wake_ns is not None and wake_ns <= now_ns)
        ):
            self._rounds(now_ns)
            if application.has_ended:
                return None
            due_ns, wake_ns = self._due_ns, application.wake_ns
        next_ns = events.beat(application.sent)
        if due_ns is not None and due_ns < next_ns:
            next_ns = due_ns
        return wake_ns if wake_ns is not None and wake_ns < next_ns else next_ns

    def _rounds(self, now_ns: int) -> None:
        """Run rounds of the application and the core until nothing more happens at this time."""
        application = self._application
        now_ms = now_ns // NS_PER_MS
        wake_ns = application.wake_ns
        may_go_on = application.may_go_on() or (wake_ns is not None and wake_ns <= now_ns)
        for _ in range(SPINNING_ROUNDS):
            if may_go_on:
                application.go_on()
                if application.has_ended:
                    return
            core, selector = application.producer
            due_ms = core.run_once(now_ms)
            core.publish(now_ms)
            self._due_ns = None if due_ms is None else due_ms * NS_PER_MS
            may_go_on = application.may_go_on()
            if not ((due_ms is not None and due_ms <= now_ms) or may_go_on or selector.has_news):
                return
        self._due_ns = now_ns + NS_PER_MS
