"""Consumers of one group against scripted brokers, in virtual time. Each has an application that polls.

A script decides about single requests (``brokers.script``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clients.reference.consumer.components import Components
from harness.brokers.scripted.cluster import ScriptedCluster
from harness.model.dice import Dice
from harness.simulated.network import Network
from harness.simulated.proxy import SimulatedProxy
from harness.simulated.scheduler import NS_PER_MS, WALL_MS_AT_ZERO, Scheduler
from harness.wire.records import BatchBuilder, Codec
from suites.properties.group_member import Member
from suites.properties.scripted_brokers import Brokers

START_MS = 1_000
MAX_ROUNDS_AT_ONCE = 300


class Group:
    """Brokers with topic "t", and consumers, which are made of ``components``."""

    def __init__(self, components: Components | None = None, nodes: int = 1, partitions: int = 4) -> None:
        self.components = components or Components()
        self.scheduler = Scheduler(START_MS * NS_PER_MS)
        self.addresses = {node_id: (f"broker-{node_id}", 9092) for node_id in range(1, nodes + 1)}
        self.cluster = ScriptedCluster(
            "4.3.1", self.addresses, Dice(0, "group"), wall_ms_at_zero=WALL_MS_AT_ZERO
        )
        self.cluster.use(self.scheduler)
        self.cluster.create_topic("t", partitions)
        self.network = Network(self.scheduler, self.cluster, self.addresses, None)
        self.brokers = self.network.broker = Brokers(self.cluster)
        self.members: list[Member] = []

    @property
    def now_ms(self) -> int:
        """The virtual time, rounded down."""
        return self.scheduler.now_ns // NS_PER_MS

    def member(self, components: Any = None, **settings: Any) -> Member:
        """Return a new consumer, of the group's components by default. Settings have Java's names, with underscores."""
        member = Member(self, components or self.components, **settings)
        self.members.append(member)
        return member

    def joined(self, **settings: Any) -> Member:
        """Return a member that polls and has its partitions."""
        member = self.member(**settings).subscribe().polls()
        self.until(lambda: self.is_settled)
        return member

    @property
    def is_settled(self) -> bool:
        """Whether all members are stable and need no other rebalance."""
        alive = [each for each in self.members if each.is_running]
        return all(
            each.coordinator.state.told == "STABLE" and not each.coordinator.rejoin_needed_or_pending()
            for each in alive
        )

    def fill(self, partition: int, *values: bytes, topic: str = "t") -> None:
        """Append records to a partition, as another producer does."""
        batch = BatchBuilder(Codec.NONE)
        for value in values:
            batch.append(WALL_MS_AT_ZERO, None, value, ())
        self.cluster.fill(topic, partition, [batch.build()], self.scheduler.now_ns)

    def proxy(self, node_id: int = 1) -> SimulatedProxy:
        """Return the proxy of a node. Raise StopIteration if there is no such node."""
        return next(proxy for proxy in self.network.proxies if proxy.node_id == node_id)

    def run(self, for_ms: int) -> None:
        """Let ``for_ms`` pass."""
        self.run_until(lambda: False, for_ms)

    def until(self, seen: Callable[[], bool], limit_ms: int = 600_000) -> None:
        """Let time pass until ``seen()``. Raise AssertionError after ``limit_ms``."""
        assert self.run_until(seen, limit_ms), f"not seen within {limit_ms} ms"

    def run_until(self, seen: Callable[[], bool], limit_ms: int) -> bool:
        """Let time pass until ``seen()``, at most ``limit_ms``. Return whether it was seen."""
        until_ns = self.scheduler.now_ns + limit_ms * NS_PER_MS
        while not seen():
            due = [each.next_ms for each in self.members]
            times = [time * NS_PER_MS for time in due if time is not None]
            times += [time for time in (self.scheduler.next_ns(), until_ns) if time is not None]
            self.scheduler.run(max(min(times), self.scheduler.now_ns))
            if not self._rounds(seen) and self.scheduler.now_ns >= until_ns:
                return seen()
        return True

    def _rounds(self, seen: Callable[[], bool]) -> bool:
        """Run rounds of all members that are due, until no more happens at this time. Return whether there were any."""
        for number in range(MAX_ROUNDS_AT_ONCE):
            news = self.network.news
            ready = [
                each
                for each in self.members
                if each.is_running
                and (
                    news
                    or each.selector.has_news
                    or (each.next_ms is not None and each.next_ms <= self.now_ms)
                )
            ]
            if not ready or (number and seen()):
                return number > 0
            for member in ready:
                member.round()
        raise AssertionError(f"{MAX_ROUNDS_AT_ONCE} rounds at {self.now_ms} ms, and no end")
