"""A simulation for properties: a producer of the given components, scripted brokers, and a controlled network.

It has the same core, network and brokers as a simulated trial, but no plan: the property decides what happens
when. Time advances only in ``run``. Jitter is a constant that the property chooses, so that it knows each bound
exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from clients.adapters.reference.simulated import SimulatedSelector
from clients.reference.producer.producer import Components, ProducerCore
from clients.reference.producer.producer_batch import Callback, ProducerBatch
from clients.reference.producer.send_handle import Delivery
from clients.reference.telemetry.trace import RequestSent, TraceEvent
from harness.brokers.scripted.cluster import ScriptedCluster
from harness.model.dice import Dice
from harness.model.rows import Frame, FrameKind, LogRecord
from harness.simulated.network import Network
from harness.simulated.proxy import SimulatedProxy
from harness.simulated.scheduler import NS_PER_MS, WALL_MS_AT_ZERO, Scheduler

E = TypeVar("E", bound=TraceEvent)

TOPIC = "t"
START_MS = 1_000
#: A client that needs more rounds than this at one time is in an endless loop, which is a defect.
MAX_ROUNDS_AT_ONCE = 200


class Spinning(AssertionError):
    """The client asks to be called again at once, forever."""


class Simulation:
    """One producer against ``nodes`` brokers with topic ``TOPIC``. Times are in virtual milliseconds from START_MS."""

    def __init__(
        self,
        components: Components,
        settings: Mapping[str, Any] | None = None,
        *,
        nodes: int = 1,
        partitions: int = 1,
        version: str = "4.3.1",
        topic_config: Mapping[str, str] | None = None,
        jitter: Callable[[], float] = lambda: 0.0,
        names: Mapping[str, Sequence[str]] | None = None,
        replication_factor: int | None = None,
        selector: type[SimulatedSelector] = SimulatedSelector,
    ) -> None:
        self.scheduler = Scheduler(START_MS * NS_PER_MS)
        self.addresses = {node_id: (f"broker-{node_id}", 9092) for node_id in range(1, nodes + 1)}
        self.cluster = ScriptedCluster(
            version, self.addresses, Dice(0, "bench"), wall_ms_at_zero=WALL_MS_AT_ZERO
        )
        self.cluster.use(self.scheduler)
        self.cluster.create_topic(TOPIC, partitions, topic_config, replication_factor)
        self.network = Network(self.scheduler, self.cluster, self.addresses, names)
        self.selector = selector(self.network, components.channel)
        self.trace: list[TraceEvent] = []
        bootstrap = ",".join(f"{host}:{port}" for host, port in self.addresses.values())
        self.config = components.config.from_mapping({"bootstrap.servers": bootstrap} | dict(settings or {}))
        self.core = ProducerCore(
            self.config,
            self.selector,
            jitter=jitter,
            trace=self.trace.append,
            components=components,
        )
        self._due_ms: int | None = START_MS

    # time

    @property
    def now_ms(self) -> int:
        """The virtual time, rounded down, as the core sees it."""
        return self.scheduler.now_ns // NS_PER_MS

    def run(self, for_ms: int) -> None:
        """Let ``for_ms`` pass."""
        self.run_until(lambda: False, for_ms)

    def run_until(self, seen: Callable[[], bool], limit_ms: int = 600_000) -> bool:
        """Let time pass until ``seen()``, at most ``limit_ms``. Return whether it was seen."""
        until_ns = self.scheduler.now_ns + limit_ms * NS_PER_MS
        while not seen():
            event_ns = self.scheduler.next_ns()
            due_ns = None if self._due_ms is None else self._due_ms * NS_PER_MS
            next_ns = min(time for time in (event_ns, due_ns, until_ns) if time is not None)
            self.scheduler.run(max(next_ns, self.scheduler.now_ns))
            if self.network.news or self.selector.has_news or (due_ns is not None and due_ns <= next_ns):
                self.rounds()
            elif next_ns >= until_ns:
                return seen()
        return True

    def rounds(self) -> None:
        """Run rounds of the core at the current time, until it has nothing more to do."""
        for _ in range(MAX_ROUNDS_AT_ONCE):
            self._due_ms = self.core.run_once(self.now_ms)
            published = self.core.publish(self.now_ms)
            is_due = self._due_ms is not None and self._due_ms <= self.now_ms
            if not (published or is_due or self.network.news or self.selector.has_news):
                return
        raise Spinning(f"{MAX_ROUNDS_AT_ONCE} rounds at {self.now_ms} ms, and no end")

    # the application

    def send(
        self,
        value: bytes | None = b"x",
        *,
        key: bytes | None = None,
        partition: int | None = None,
        topic: str = TOPIC,
        callback: Callback | None = None,
    ) -> Delivery:
        """Hand over a record now."""
        delivery, _ = self.core.send(
            topic,
            key,
            value,
            timestamp_ms=WALL_MS_AT_ZERO + self.now_ms,
            now_ms=self.now_ms,
            partition=partition,
            callback=callback,
        )
        self._due_ms = self.now_ms
        return delivery

    def warm(self, **where: Any) -> Delivery:
        """Send one record and wait until it is stored, so that connection, metadata and producer id are known."""
        delivery = self.send(b"warm", **where)
        assert self.run_until(lambda: delivery.is_done, 60_000), "the first record had no result in a minute"
        assert delivery.error is None, f"the first record failed: {delivery.error}"
        return delivery

    def flush(self, limit_ms: int = 600_000) -> bool:
        """Flush. Return whether it ended within the limit."""
        batches = self.core.begin_flush()
        self._due_ms = self.now_ms
        done = self.run_until(lambda: all(map(_is_published, batches)), limit_ms)
        self.core.end_flush()
        return done

    def close(self, timeout_ms: int | None = None, limit_ms: int = 600_000) -> bool:
        """Close. Return whether the producer was closed within the limit."""
        self.core.close(self.now_ms, timeout_ms)
        self._due_ms = self.now_ms
        closed = self.run_until(lambda: self.core.is_closed, limit_ms)
        self.core.publish(self.now_ms)
        return closed

    # what can be observed

    def proxy(self, node_id: int = 1) -> SimulatedProxy:
        """Return the proxy of a node. Raise StopIteration if the simulation has no such node."""
        return next(proxy for proxy in self.network.proxies if proxy.node_id == node_id)

    def told(self, kind: type[E]) -> list[E]:
        """Return the trace events of one kind, in order."""
        return [event for event in self.trace if isinstance(event, kind)]

    def requests(self, api: str) -> list[RequestSent]:
        """Return the requests of one API that the client wrote."""
        return [event for event in self.told(RequestSent) if event.api == api]

    def frames(self, api: str, kind: FrameKind = FrameKind.REQUEST) -> Iterator[Frame]:
        """Return the frames of one API that the witness saw."""
        return (frame for frame in self.network.rows if frame.api == api and frame.kind is kind)

    def log(self, topic: str = TOPIC) -> list[LogRecord]:
        """Return the log that the brokers hold."""
        return list(self.cluster.read_log(topic))


def _is_published(batch: ProducerBatch) -> bool:
    return batch.is_published
