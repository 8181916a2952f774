"""One cluster of three brokers for all tests of the package: what a client observes during each fault and after it.

The client is the harness's own connection through the lane, and sends ``Produce``. Brokers are queried over INTERNAL,
which has no faults. A second topic, ``beside``, has a partition for each broker. Partitions of brokers that the fault
does not name keep their leaders and stay available. A test is a coroutine of the one ``peer``, and restores the
cluster, so that the order of the tests does not matter.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.metadata.v12.response import MetadataResponsePartition, MetadataResponseTopic
from kio.schema.produce.v9 import ProduceRequest, ProduceResponse
from kio.schema.produce.v9.request import PartitionProduceData, TopicProduceData
from kio.schema.produce.v9.response import PartitionProduceResponse
from kio.schema.types import TopicName
from kio.static.primitive import Records, i16, i32, i32Timedelta

from faults.toxiproxy import TOXIPROXY
from harness.brokers.connection import BrokerConnection, NotYet
from harness.brokers.deadline import insist
from harness.brokers.local import LOCAL, LocalCluster
from harness.model.addresses import Address
from harness.model.rows import FaultRow, Frame
from harness.model.spec import AtTime, FaultSpec
from harness.plugins.fault import LiveLane
from harness.plugins.registry import fault as fault_kind
from harness.running.lane import Lane, open_lane
from harness.wire.error_table import error_for
from harness.wire.records import BatchBuilder

TEN_SECONDS = i32Timedelta.parse(timedelta(seconds=10))
FOR_LONG_MS = 600_000
NS_PER_MS = 1_000_000
BESIDE = "beside"


@dataclass
class Peer:
    """Sends requests through the lane to the leader of partition 0."""

    lane: LiveLane
    cluster: LocalCluster
    frames: list[Frame]
    addresses: Mapping[int, Address]

    async def leader(self) -> int:
        return await self.cluster.leader(self.lane.topic, 0)

    def to(self, node_id: int) -> BrokerConnection:
        [proxy] = [proxy for proxy in self.lane.proxies if proxy.address.broker == node_id]
        return BrokerConnection(proxy.address.advertised)

    async def internal(self, node_id: int) -> Any:
        """Return the versions that a broker reports over INTERNAL, even if the harness considers it down, or NotYet."""
        connection = BrokerConnection(self.addresses[node_id], credentials=self.cluster.credentials)
        try:
            return await connection.versions()
        finally:
            connection.close()

    async def result_of_produce(
        self, node_id: int, size_bytes: int = 10, **how: Any
    ) -> PartitionProduceResponse:
        """Return a broker's result for one record, or NotYet without a response."""
        answer = await self.answer(node_id, size_bytes, **how)
        return answer.responses[0].partition_responses[0]

    async def answer(
        self,
        node_id: int,
        size_bytes: int = 10,
        acks: int = -1,
        topic: str | None = None,
        partition: int = 0,
        by: BrokerConnection | None = None,
        **producer: int,
    ) -> ProduceResponse:
        """Return the whole response to one record, or NotYet. The connection is a new one or the given one."""
        builder = BatchBuilder()
        # Brokers date producer state by its records: with old records it would expire without a fault.
        builder.append(time.time_ns() // NS_PER_MS, b"k", b"." * size_bytes)
        records = Records(builder.build(**producer))  # type: ignore[arg-type]
        part = PartitionProduceData(index=i32(partition), records=records)
        request = ProduceRequest(
            transactional_id=None,
            acks=i16(acks),
            timeout=TEN_SECONDS,
            topic_data=(TopicProduceData(name=TopicName(topic or self.lane.topic), partition_data=(part,)),),
        )
        connection = by or self.to(node_id)
        try:
            return await connection.request(request, ProduceResponse)
        finally:
            connection.close()

    async def produce(self, node_id: int, **how: Any) -> str:
        """Return the name of the error that a broker responds with, or ``gone`` without a response."""
        try:
            return error_for((await self.result_of_produce(node_id, **how)).error_code).name
        except NotYet:
            return "gone"

    async def eventually(self, expected: str, **how: Any) -> None:
        """Return once the current leader responds with this result."""

        async def matches() -> None:
            if (said := await self.produce(await self.leader(), **how)) != expected:
                raise NotYet("made-up", "{text}", text=said)

        await insist(f"a response with {expected}", 30, matches)

    async def known(self, node_id: int, topic: str | None = None) -> MetadataResponseTopic:
        """Return a broker's metadata of a topic, or NotYet without a response."""
        [found] = (await self.cluster.admin.metadata(node_id, topic or self.lane.topic)).topics
        return found

    async def first(self, node_id: int) -> MetadataResponsePartition:
        """Return a broker's metadata of partition 0, or NotYet without a response."""
        [part] = (p for p in (await self.known(node_id)).partitions if p.partition_index == 0)
        return part

    async def log_size(self) -> int:
        """Return how many records the topic has."""
        return len(await self.cluster.read_log(self.lane.topic))

    async def served_beside(self, node_ids: Iterable[int], acks: int = 1) -> set[Any]:
        """Check that these brokers accept a record for ``beside``, and return their leaderships and log starts."""
        found = set()
        for node_id in node_ids:
            topic = await self.known(node_id, BESIDE)
            for part in topic.partitions:
                if part.leader_id == node_id:
                    answer = await self.result_of_produce(
                        node_id, acks=acks, topic=BESIDE, partition=part.partition_index, size_bytes=300
                    )
                    assert answer.error_code is ErrorCode.none
                    led = (part.partition_index, part.leader_id, part.leader_epoch)
                    found.add((topic.topic_id, len(topic.partitions), *led, answer.log_start_offset))
        return found

    @asynccontextmanager
    async def under(self, kind: str, *brokers: int, **params: int) -> AsyncIterator[FaultRow]:
        """Put the fault into effect.

        Afterwards count its hits, heal it, and check the partitions of other brokers.
        """
        fault, spec = fault_kind(kind), FaultSpec(kind, AtTime(0), FOR_LONG_MS, params, brokers)
        window = (0, 2**63)
        row = FaultRow(0, spec, window, window)
        spared = [node_id for node_id in self.cluster.node_ids if node_id not in brokers]
        beside = await self.served_beside(spared)
        assert beside
        await fault.prepare(spec, self.lane)
        self.frames.clear()
        try:
            await fault.inject_live(spec, self.lane)
            yield row
            hits = fault.hits(row, self.frames)
            assert hits > 0, f"{kind} hit nothing"
            assert await self.served_beside(spared) >= beside
        finally:
            # The fault of a failed test must not affect the next one.
            await fault.heal_live(spec, self.lane)
        await fault.heal_live(spec, self.lane)
        await self.eventually("NONE")
        assert await self.served_beside(spared) >= beside


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool:
    """Run a test in the event loop of the cluster's connections."""
    given = pyfuncitem.funcargs
    given["loop"].run(pyfuncitem.obj(given["peer"]))
    return True


@pytest.fixture(scope="package")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="package")
def started(
    loop: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[LocalCluster, Lane]]:
    """Return the one cluster and its lane."""
    log_dir = tmp_path_factory.mktemp("logs")

    @asynccontextmanager
    async def start() -> AsyncIterator[tuple[LocalCluster, Lane]]:
        async with (
            LOCAL.cluster("4.3.1x3", lanes=1, log_dir=log_dir) as cluster,
            TOXIPROXY.server(log_dir) as server,
            open_lane(cluster, server) as lane,
        ):
            assert isinstance(cluster, LocalCluster)
            await cluster.create_topic("t", 1)
            await cluster.create_topic(BESIDE, 3)
            yield cluster, lane

    stack = AsyncExitStack()
    yield loop.run(stack.enter_async_context(start()))
    loop.run(stack.aclose())


@pytest.fixture
def peer(loop: asyncio.Runner, started: tuple[LocalCluster, Lane]) -> Iterator[Peer]:
    """Return the peer without recorded frames. After the test no part of its fault may be left."""
    cluster, lane = started
    frames: list[Frame] = []
    lane.witness.record(frames.append)
    loop.run(_spread(cluster))
    on = LiveLane(lane.proxies, lane.witness, cluster, "t")
    yield Peer(on, cluster, frames, cluster.internal_addresses)
    loop.run(lane.assert_pristine())
    assert cluster.died() is None


async def _spread(cluster: LocalCluster) -> None:
    """Give each broker the lead of one partition of ``beside``. A restarted broker does not get its own back."""
    for partition, node_id in enumerate(cluster.node_ids):
        if await cluster.leader(BESIDE, partition) != node_id:
            await cluster.alterations.move_leader(BESIDE, partition, node_id)
