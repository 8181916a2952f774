"""The consumer for simulated mode: commands go to its application, and steps run rounds of its core."""

from __future__ import annotations

from clients.adapters.reference.simulated.client import SPINNING_ROUNDS
from clients.adapters.reference.simulated.events import Events
from clients.adapters.reference.simulated.member import Application, Waits
from clients.adapters.reference.simulated.selector import SimulatedSelector
from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.consumer import Components, ConsumerCore
from clients.reference.telemetry.trace import TraceEvent
from harness.model.consumer_contract import ConsumerCommand
from harness.model.contract import Close
from harness.model.dice import Dice
from harness.model.exchanges import FOR_EVER
from harness.simulated.network import Network
from harness.simulated.scheduler import NS_PER_MS


class SimulatedConsumer:
    """See :class:`harness.simulated.ports.SimulatedMember`."""

    def __init__(
        self,
        config: ConsumerConfig,
        network: Network,
        dice: Dice,
        events: Events,
        components: Components | None = None,
    ) -> None:
        self.trace: list[TraceEvent] = []
        self._network, self._events = network, events
        self._selector = SimulatedSelector(network)
        self._core = ConsumerCore(
            config,
            self._selector,
            jitter=lambda: dice.between(-1_000_000, 1_000_000) / 1_000_000,
            wall_ms=lambda: network.wall_ns // NS_PER_MS,
            now_ms=events.now_ns // NS_PER_MS,
            trace=self.trace.append,
            components=components,
        )
        self._application = Application(self._core, events)
        self._due_ns: int | None = events.now_ns

    def call(self, command: ConsumerCommand) -> None:
        """Let the application do one call, between two turns of its loop."""
        self._application.commands.append(command)

    def close(self, command: Close) -> None:
        """Close the consumer."""
        self._application.commands.append(command)

    def kill(self) -> None:
        """End as a killed process does."""
        self._selector.close_all()

    def step(self, now_ns: int) -> int | None:
        """Do everything that is due now. Return when the next call is due."""
        application, events = self._application, self._events
        if application.has_ended:
            return None
        events.now_ns = now_ns
        if self._selector.has_news or self._is_idle_with_commands() or self._next_ns() <= now_ns:
            self._rounds(now_ns)
            if application.has_ended:
                self._selector.close_all()
                return None
        return max(min(events.beat(application.taken, application.finished), self._next_ns()), now_ns)

    def _next_ns(self) -> int:
        """Return when the core or the application continues without news."""
        waits = self._application.waits
        until_ns = waits.until_ns if isinstance(waits, Waits) else waits
        return min((each for each in (self._due_ns, until_ns) if each is not None), default=FOR_EVER)

    def _is_idle_with_commands(self) -> bool:
        return self._application.waits is None and bool(self._application.commands)

    def _rounds(self, now_ns: int) -> None:
        """Run rounds of the application and the core until nothing more happens at this time."""
        application, now_ms = self._application, now_ns // NS_PER_MS
        for _ in range(SPINNING_ROUNDS):
            had_news = self._selector.has_news
            due_ms = self._core.run_once(now_ms)
            self._due_ns = None if due_ms is None else due_ms * NS_PER_MS
            moved = self._may_go_on(now_ns, had_news)
            if moved:
                application.go_on()
                if application.has_ended:
                    return
            if not (moved or self._selector.has_news or (due_ms is not None and due_ms <= now_ms)):
                return
        self._due_ns = now_ns + NS_PER_MS

    def _may_go_on(self, now_ns: int, had_news: bool) -> bool:
        """Return whether the application's wait has ended."""
        waits = self._application.waits
        if waits is None:
            return self._is_idle_with_commands()
        if isinstance(waits, int):
            return waits <= now_ns
        reached = waits.until_ns is not None and waits.until_ns <= now_ns
        return had_news or reached or self._core.progress != waits.before
