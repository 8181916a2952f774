"""The suites' bench, with control over single requests between its network and the scripted brokers.

Everything else about brokers and network is controlled by their own objects: ``w.cluster``, ``w.proxy()``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from clients.reference.metadata.metadata import Metadata
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.partitioner import Partitioner
from clients.reference.producer.producer import Components
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.reference.producer.send_handle import Delivery
from clients.reference.producer.sender import Sender
from clients.reference.producer.transaction_manager import TransactionManager
from harness.model.rows import FrameKind
from harness.simulated.pipe import BASE_NS
from harness.simulated.scheduler import NS_PER_MS, WALL_MS_AT_ZERO
from harness.wire.apis import Api
from harness.wire.records import BatchHeader, RecordBatch, read_batches, read_headers
from suites.properties.scripted_brokers import Brokers as ScriptedBrokers
from suites.properties.scripted_brokers import Disposition
from suites.properties.scripted_brokers import Seen as AnySeen
from suites.properties.simulation import TOPIC, Simulation


class Seen(AnySeen):
    """One request as a broker received it, with what a Produce request has in it."""

    @property
    def produced(self) -> list[tuple[int, bytes]]:
        """The (partition, records) pairs of a Produce request."""
        parts = [part for topic in self.body.topic_data for part in topic.partition_data]
        return [(part.index, bytes(part.records)) for part in parts]

    @property
    def batches(self) -> list[BatchHeader]:
        return [header for _, data in self.produced for header in read_headers(data)]

    def tell(self, **values: Any) -> Disposition:
        """Return a fate: the response to Produce, with these values for its one partition."""

        def change(body: Any) -> Any:
            [topic] = body.responses
            [partition] = topic.partition_responses
            told = replace(partition, **values)
            return replace(body, responses=(replace(topic, partition_responses=(told,)),))

        return self.edit(change)


class Brokers(ScriptedBrokers):
    """Scripted brokers, of which producers are the usual clients."""

    seen_as = Seen

    def fates(self, *fates: Disposition, then: Disposition = None, api: Api = Api.PRODUCE) -> None:
        super().fates(*fates, then=then, api=api)

    def requests(self, api: Api = Api.PRODUCE) -> list[Seen]:
        return super().requests(api)

    def batches(self, partition: int = 0, topic: str = TOPIC) -> list[RecordBatch]:
        """Return the batches that a partition holds."""
        return [batch for data in self.cluster.log_batches(topic, partition) for batch in read_batches(data)]

    def values(self, partition: int = 0, topic: str = TOPIC) -> list[bytes | None]:
        return [record.value for batch in self.batches(partition, topic) for record in batch.records]


class World(Simulation):
    """A producer, and brokers with topic "t" of three partitions. Settings have Java's names, with underscores.

    ``metadata``, ``client``, ``transactions``, ``accumulator``, ``chooser`` and ``sender`` are the producer's parts.
    """

    metadata: Metadata
    client: NetworkClient
    transactions: TransactionManager
    accumulator: RecordAccumulator
    chooser: Partitioner
    sender: Sender

    def __init__(self, components: Components | None = None, nodes: int = 1, **given: Any) -> None:
        simulation: dict[str, Any] = {"nodes": nodes, "partitions": 3, "replication_factor": 1}
        simulation |= {name: given.pop(name) for name in ("names", "selector") if name in given}
        settings = {"bootstrap.servers": "broker-1:9092"} | {k.replace("_", "."): v for k, v in given.items()}
        super().__init__(self._keeping(components or Components()), settings, **simulation)
        self.brokers = self.network.broker = Brokers(self.cluster)
        self._numbers = count()

    def _keeping(self, components: Components) -> Components:
        """Return components whose objects this world keeps."""

        def kept(name: str, make: Callable[..., Any]) -> Any:
            def made(*given: Any) -> Any:
                part = make(*given)
                setattr(self, name, part)
                return part

            return made

        names = {
            "metadata": "metadata",
            "network_client": "client",
            "transaction_manager": "transactions",
            "accumulator": "accumulator",
            "partitioner": "chooser",
            "sender": "sender",
        }
        return replace(
            components, **{part: kept(name, getattr(components, part)) for part, name in names.items()}
        )

    def send(
        self, value: Any = ..., *, topic: str = TOPIC, key: bytes | None = None, **given: Any
    ) -> Delivery:
        """Send a record, by default to partition 0 and with a unique value."""
        own = b"v%d" % next(self._numbers)
        record = {"partition": 0, "timestamp_ms": WALL_MS_AT_ZERO, "now_ms": self.now_ms} | given
        return self.core.send(topic, key, own if value is ... else value, **record)[0]

    def run_until(self, seen: Callable[[], bool], limit_ms: int = 600_000) -> bool:
        self._due_ms = self.now_ms  # a test may have changed the core in any way
        return super().run_until(seen, limit_ms)

    def until(self, seen: Callable[[], bool], limit_ms: int = 3_600_000) -> None:
        assert self.run_until(seen, limit_ms), f"not seen within {limit_ms} ms"

    def settle(self, *deliveries: Delivery) -> None:
        self.until(lambda: all(delivery.is_done for delivery in deliveries))

    def slow(self, latency_ms: int) -> None:
        """Delay all responses from now on by that time."""
        for proxy in self.network.proxies:
            proxy.down.delay("test", latency_ms * NS_PER_MS - 2 * BASE_NS)

    def refuse(self, node_id: int = 1) -> None:
        """Reset the connections to a node, and reject new ones until :meth:`accept`."""
        self.proxy(node_id).refuse("test")
        self.drop(node_id)

    def accept(self, node_id: int = 1) -> None:
        self.proxy(node_id).accept("test")

    def drop(self, node_id: int = 1) -> None:
        """Reset the connections to a node."""
        self.proxy(node_id).cut(reset=True)

    @property
    def closed(self) -> list[tuple[int, int]]:
        """When, and to which node, each connection ended that the client closed."""
        rows = (row for row in self.network.rows if row.kind is FrameKind.CLOSE)
        return [(row.t_ns // NS_PER_MS, row.broker) for row in rows if row.closed_by == "client"]


@pytest.fixture(scope="session")
def world() -> type[World]:
    return World


@pytest.fixture(scope="session")
def brokers() -> type[Brokers]:
    return Brokers
