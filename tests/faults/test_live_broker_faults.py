"""The faults of brokers on real ones: what an independent client sees of each, and that it sees nothing of it later.

The client here is the harness's own connection, through the lane as any client; ``Produce`` is its question. What the
brokers see is asked of them over INTERNAL, where no fault is. A second topic, ``beside``, has a partition for each
broker: those of brokers that the fault does not name are led and served as before.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from kio.schema.describe_client_quotas.v1 import DescribeClientQuotasRequest, DescribeClientQuotasResponse
from kio.schema.describe_client_quotas.v1.request import ComponentData
from kio.schema.describe_producers.v0 import DescribeProducersRequest, DescribeProducersResponse
from kio.schema.describe_producers.v0.request import TopicRequest
from kio.schema.errors import ErrorCode
from kio.schema.find_coordinator.v4 import FindCoordinatorRequest, FindCoordinatorResponse
from kio.schema.init_producer_id.v4 import InitProducerIdRequest, InitProducerIdResponse
from kio.schema.metadata.v12 import MetadataResponse
from kio.schema.metadata.v12.response import MetadataResponsePartition, MetadataResponseTopic
from kio.schema.produce.v9 import ProduceRequest, ProduceResponse
from kio.schema.produce.v9.request import PartitionProduceData, TopicProduceData
from kio.schema.produce.v9.response import PartitionProduceResponse
from kio.schema.types import ProducerId, TopicName, TransactionalId
from kio.static.primitive import Records, i8, i16, i32, i32Timedelta

from faults.toxiproxy import TOXIPROXY
from harness.brokers.admin import EARLIEST, LATEST, metadata_request
from harness.brokers.connection import Connection, NotYet, require
from harness.brokers.deadline import insist
from harness.brokers.local import LOCAL, LocalCluster
from harness.lane import LiveLane, open_lane
from harness.ports import Address
from harness.registry import fault as fault_kind
from harness.rows import FaultRow, Frame, FrameKind
from harness.spec import Elapsed, FaultSpec
from harness.wire.apis import Api
from harness.wire.error_table import error_for
from harness.wire.records import BatchBuilder

pytestmark = pytest.mark.jvm

TEN_SECONDS = i32Timedelta.parse(timedelta(seconds=10))
FOR_LONG_MS = 600_000
NS_PER_MS = 1_000_000
BESIDE = "beside"
TRANSACTIONAL_ID = "a transaction"


@dataclass
class Peer:
    """Speaks through the lane to the broker that leads partition 0."""

    lane: LiveLane
    cluster: LocalCluster
    frames: list[Frame]
    addresses: Mapping[int, Address]

    async def leader(self) -> int:
        return await self.cluster.leader(self.lane.topic, 0)

    def to(self, node_id: int) -> Connection:
        [proxy] = [proxy for proxy in self.lane.proxies if proxy.address.broker == node_id]
        return Connection(proxy.address.advertised)

    async def internal(self, node_id: int) -> Any:
        """The versions that a broker says over INTERNAL, whatever the harness thinks of it. NotYet: nothing."""
        connection = Connection(self.addresses[node_id])
        try:
            return await connection.versions()
        finally:
            connection.close()

    async def told(self, node_id: int, size_bytes: int = 10, **how: Any) -> PartitionProduceResponse:
        """What a broker answers to one record. NotYet: nothing."""
        answer = await self.answer(node_id, size_bytes, **how)
        return answer.responses[0].partition_responses[0]

    async def answer(
        self,
        node_id: int,
        size_bytes: int = 10,
        acks: int = -1,
        topic: str | None = None,
        partition: int = 0,
        by: Connection | None = None,
        **producer: int,
    ) -> ProduceResponse:
        """The whole answer to one record, on a connection of its own or that given. NotYet: nothing."""
        builder = BatchBuilder()
        # Brokers take the age of what they know of a producer from its records: old ones are forgotten without a fault.
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
        """The name of the error that a broker answers, ``gone`` if it does not answer."""
        try:
            return error_for((await self.told(node_id, **how)).error_code).name
        except NotYet:
            return "gone"

    async def hears(self, expected: str, **how: Any) -> None:
        """Return once the leader of the moment answers so."""

        async def heard() -> None:
            if (said := await self.produce(await self.leader(), **how)) != expected:
                raise NotYet(said)

        await insist(f"hearing {expected}", 30, heard)

    async def known(self, node_id: int, topic: str | None = None) -> MetadataResponseTopic:
        """What a broker knows of a topic. NotYet: it does not answer."""
        [found] = (await self.cluster.admin.metadata(node_id, topic or self.lane.topic)).topics
        return found

    async def first(self, node_id: int) -> MetadataResponsePartition:
        """What a broker knows of partition 0. NotYet: it does not answer."""
        [part] = (p for p in (await self.known(node_id)).partitions if p.partition_index == 0)
        return part

    async def log_size(self) -> int:
        """How many records the topic has."""
        return len(await self.cluster.read_log(self.lane.topic))

    async def served_beside(self, node_ids: Iterable[int], acks: int = 1) -> set[Any]:
        """Of ``beside`` what these brokers lead; that each takes a record there; and where its log begins."""
        found = set()
        for node_id in node_ids:
            topic = await self.known(node_id, BESIDE)
            for part in topic.partitions:
                if part.leader_id == node_id:
                    answer = await self.told(
                        node_id, acks=acks, topic=BESIDE, partition=part.partition_index, size_bytes=300
                    )
                    assert answer.error_code is ErrorCode.none
                    led = (part.partition_index, part.leader_id, part.leader_epoch)
                    found.add((topic.topic_id, len(topic.partitions), *led, answer.log_start_offset))
        return found

    @asynccontextmanager
    async def under(self, kind: str, *brokers: int, **params: int) -> AsyncIterator[FaultRow]:
        """The fault in effect; afterwards its hits are counted, and it is over. What is led beside stays so."""
        fault, spec = fault_kind(kind), FaultSpec(kind, Elapsed(0), FOR_LONG_MS, params, brokers)
        window = (0, 2**63)
        row = FaultRow(0, spec, window, window)
        spared = [node_id for node_id in self.cluster.node_ids if node_id not in brokers]
        beside = await self.served_beside(spared)
        assert beside
        await fault.prepare(spec, self.lane)
        self.frames.clear()
        await fault.start(spec, self.lane)
        yield row
        hits = fault.hits(row, self.frames)
        assert hits > 0, f"{kind} hit nothing"
        assert await self.served_beside(spared) >= beside
        await fault.stop(spec, self.lane)
        await fault.stop(spec, self.lane)
        await self.hears("NONE")
        assert await self.served_beside(spared) >= beside


@pytest.mark.control(
    "leader_move",
    client="the old leader answers NOT_LEADER_OR_FOLLOWER, the new one takes the record",
    broker="every broker names another leader, in a later epoch",
    untouched=(
        "the other topic's partitions, those of the same broker too, are led as before, and take records,"
        " meanwhile and afterwards"
    ),
)
async def leaders_move(peer: Peer) -> None:
    before = await peer.leader()
    led = await peer.served_beside([before])
    epoch = (await peer.first(before)).leader_epoch
    async with peer.under("leader_move", before):
        assert await peer.leader() != before
        for node_id in peer.cluster.node_ids:
            moved = await peer.first(node_id)
            assert moved.leader_id != before and moved.leader_epoch > epoch
        assert await peer.produce(before) == "NOT_LEADER_OR_FOLLOWER"
        await peer.hears("NONE")
        assert led and await peer.served_beside([before]) == led


@pytest.mark.control(
    "message_size_limit",
    client="a large record is answered MESSAGE_TOO_LARGE, a small one is taken",
    broker="the large record is not in the log, the small one is",
    untouched=(
        "the other topic's partitions take large records, and are led as before, meanwhile and afterwards"
    ),
)
async def sizes_are_limited(peer: Peer) -> None:
    async with peer.under("message_size_limit", bytes=200):
        await peer.hears("MESSAGE_TOO_LARGE", size_bytes=300)
        size = await peer.log_size()
        assert await peer.produce(await peer.leader(), size_bytes=300) == "MESSAGE_TOO_LARGE"
        assert await peer.log_size() == size
        await peer.hears("NONE", size_bytes=20)
        assert await peer.log_size() == size + 1
    await peer.hears("NONE", size_bytes=300)


@pytest.mark.control(
    "topic_growth",
    client="Metadata names three partitions where there was one",
    broker="all brokers agree on the leaders of three partitions",
    untouched=("the other topic's partitions are led as before, and take records, meanwhile and afterwards"),
)
async def topics_grow(peer: Peer) -> None:
    async with peer.under("topic_growth", partitions=2):
        assert len(await peer.cluster.partitions(peer.lane.topic)) == 3
        connection = peer.to(1)
        [found] = (await connection.request(metadata_request(peer.lane.topic), MetadataResponse)).topics
        assert len(found.partitions) == 3
        connection.close()


@pytest.mark.control(
    "log_trim",
    client="an answer to Produce says that the log begins at that record",
    broker="the log begins where it ended, and goes on there",
    untouched=(
        "the other topic's partitions are led as before, and take records, meanwhile and afterwards; "
        "their logs begin where they began"
    ),
)
async def logs_are_trimmed(peer: Peer) -> None:
    admin, topic = peer.cluster.admin, peer.lane.topic
    async with peer.under("log_trim"):
        end = await admin.list_offsets(topic, 0, LATEST)
        assert await admin.list_offsets(topic, 0, EARLIEST) == end > 0
        answer = await peer.told(await peer.leader())
        assert (answer.error_code, answer.base_offset, answer.log_start_offset) == (0, end, end)


@pytest.mark.control(
    "producer_id_expiry",
    client="a sequence that was out of order is taken",
    broker="the leader does not name the producer among those that it remembers (DescribeProducers)",
    untouched=(
        "no record of the topic is gone; the other topic's partitions are led as before, and take "
        "records, meanwhile and afterwards; producers without an id are served"
    ),
)
async def producers_are_forgotten(peer: Peer) -> None:
    """Sequence 7 is out of order for a producer that is known, and right for one that is not."""
    request = InitProducerIdRequest(
        transactional_id=None,
        transaction_timeout=TEN_SECONDS,
        producer_id=ProducerId(-1),
        producer_epoch=i16(-1),
    )
    connection = peer.to(await peer.leader())
    answer = await insist("getting a producer id", 30, lambda: _identified(connection, request))
    connection.close()
    me = {"producer_id": answer, "producer_epoch": 0}
    await peer.hears("NONE", **me, base_sequence=0)
    assert await peer.produce(await peer.leader(), **me, base_sequence=7) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert answer in await _remembered(peer)
    size = await peer.log_size()
    async with peer.under("producer_id_expiry"):
        await insist("forgetting", 30, lambda: _forgotten(peer, answer))
        assert await peer.log_size() == size
        await peer.hears("NONE", **me, base_sequence=7)
    await peer.hears("NONE", **me, base_sequence=8)
    assert await peer.produce(await peer.leader(), **me, base_sequence=99) == "OUT_OF_ORDER_SEQUENCE_NUMBER"


async def _identified(connection: Connection, request: Any) -> int:
    answer = await connection.request(request, InitProducerIdResponse)
    require(answer.error_code, "InitProducerId")
    return int(answer.producer_id)


async def _remembered(peer: Peer) -> set[int]:
    """The producers that the leader's log knows."""
    asked = TopicRequest(name=TopicName(peer.lane.topic), partition_indexes=(i32(0),))
    request = DescribeProducersRequest(topics=(asked,))
    answer = await peer.cluster.admin.ask(request, DescribeProducersResponse, await peer.leader())
    return {int(producer.producer_id) for producer in answer.topics[0].partitions[0].active_producers}


async def _forgotten(peer: Peer, producer_id: int) -> None:
    if producer_id in await _remembered(peer):
        raise NotYet("the leader remembers it")


@pytest.mark.control(
    "coordinator_move",
    client="who coordinated a transactional id answers NOT_COORDINATOR, and another takes it",
    broker="every broker names another coordinator",
    untouched=(
        "the topics' own partitions are led as before, and take records, meanwhile and afterwards; "
        "producers without a transactional id are served"
    ),
)
async def coordinators_move(peer: Peer) -> None:
    before = await insist("finding a coordinator", 30, lambda: _coordinator(peer, 1))
    await _hears_as_coordinator(peer, before, ErrorCode.none)
    led = await peer.leader()
    async with peer.under("coordinator_move", before):
        found = {
            await insist("finding it", 30, partial(_coordinator, peer, n)) for n in peer.cluster.node_ids
        }
        assert len(found) == 1 and before not in found
        await _hears_as_coordinator(peer, before, ErrorCode.not_coordinator)
        await _hears_as_coordinator(peer, found.pop(), ErrorCode.none)
        assert await peer.leader() == led


async def _coordinator(peer: Peer, asked: int) -> int:
    request = FindCoordinatorRequest(key_type=i8(1), coordinator_keys=(TRANSACTIONAL_ID,))
    connection = peer.to(asked)
    try:
        [found] = (await connection.request(request, FindCoordinatorResponse)).coordinators
    finally:
        connection.close()
    require(found.error_code, "FindCoordinator")
    return int(found.node_id)


async def _hears_as_coordinator(peer: Peer, node_id: int, expected: ErrorCode) -> None:
    """Return once a broker answers so to InitProducerId with the transactional id: it may have to load it first."""
    request = InitProducerIdRequest(
        transactional_id=TransactionalId(TRANSACTIONAL_ID),
        transaction_timeout=TEN_SECONDS,
        producer_id=ProducerId(-1),
        producer_epoch=i16(-1),
    )

    async def heard() -> None:
        connection = peer.to(node_id)
        try:
            answer = await connection.request(request, InitProducerIdResponse)
        finally:
            connection.close()
        if answer.error_code is not expected:
            raise NotYet(answer.error_code.name)

    await insist(f"hearing {expected.name}", 30, heard)


@pytest.mark.control(
    "quota",
    client="an answer to Produce says a throttle time, and no error",
    broker="every record is in the log; the quota is named by DescribeClientQuotas",
    untouched=(
        "Metadata is answered without a throttle time; the other topic's partitions are led as before, and take "
        "records, meanwhile and afterwards; after the end no answer says a throttle time"
    ),
)
async def quotas_are_set(peer: Peer) -> None:
    size, sent, leader = await peer.log_size(), 0, await peer.leader()
    async with peer.under("quota", bytes_per_s=200):
        await insist("setting the quota", 30, lambda: _has_quotas(peer, [200.0]))
        while True:
            answer = await peer.answer(leader, size_bytes=400)
            sent += 1
            assert answer.responses[0].partition_responses[0].error_code is ErrorCode.none
            if answer.throttle_time > timedelta(0):
                break
        connection = peer.to(leader)
        told = await connection.request(metadata_request(peer.lane.topic), MetadataResponse)
        connection.close()
        assert told.throttle_time == timedelta(0)
        assert await peer.log_size() == size + sent
    await insist("taking the quota back", 30, lambda: _has_quotas(peer, []))
    assert (await peer.answer(leader, size_bytes=400)).throttle_time == timedelta(0)


async def _has_quotas(peer: Peer, expected: list[float]) -> None:
    everybody = ComponentData(entity_type="client-id", match_type=i8(1), match=None)
    request = DescribeClientQuotasRequest(components=(everybody,), strict=False)
    answer = await peer.cluster.admin.ask(request, DescribeClientQuotasResponse)
    if (found := [value.value for entry in answer.entries or () for value in entry.values]) != expected:
        raise NotYet(f"the quotas are {found}")


@pytest.mark.control(
    "broker_pause",
    client="a request on a connection that was open is not answered until the fault ends, and is then",
    broker="it does not answer over INTERNAL either until then; the record is in the log afterwards",
    untouched=(
        "of the other topic, what brokers lead that the fault does not name they lead as before, and take"
        " records, meanwhile and afterwards"
    ),
)
async def brokers_stand_still(peer: Peer) -> None:
    leader = await peer.leader()
    others = [node_id for node_id in peer.cluster.node_ids if node_id != leader]
    size = await peer.log_size()
    connection = peer.to(leader)
    await connection.versions()
    async with peer.under("broker_pause", leader):
        asked = [
            asyncio.ensure_future(work) for work in (peer.told(leader, by=connection), peer.internal(leader))
        ]
        await insist("arriving", 30, lambda: _arrived(peer))
        assert await peer.served_beside(others)
        assert not any(task.done() for task in asked)
    answer, _ = await asyncio.gather(*asked)
    assert answer.error_code is ErrorCode.none
    assert await peer.log_size() == size + 2


async def _arrived(peer: Peer) -> None:
    if not any(frame.kind is FrameKind.REQUEST and frame.api_key == Api.PRODUCE for frame in peer.frames):
        raise NotYet("the witness has no request")


@pytest.mark.control(
    "min_isr",
    client="acks=all is answered NOT_ENOUGH_REPLICAS, acks=1 is taken; the follower is gone",
    broker="the leader names two replicas in sync, without the follower",
    untouched=(
        "of the other topic, what brokers lead that the fault does not name they lead as before, and take"
        " records, meanwhile and afterwards, acks=all too"
    ),
)
async def replicas_fall_behind(peer: Peer) -> None:
    leader = await peer.leader()
    follower = leader % 3 + 1
    async with peer.under("min_isr", follower):
        await peer.hears("NOT_ENOUGH_REPLICAS")
        in_sync = (await peer.first(leader)).isr_nodes
        assert follower not in in_sync and len(in_sync) == 2
        await peer.hears("NONE", acks=1)
        with pytest.raises(NotYet):
            await peer.internal(follower)
        assert await peer.produce(follower) == "gone"
        others = [node_id for node_id in peer.cluster.node_ids if node_id != follower]
        assert await peer.served_beside(others, acks=-1)


@pytest.mark.control(
    "broker_kill",
    client="the open connection ends; who connects is refused; another broker takes the record",
    broker="it does not answer over INTERNAL either; the others agree on another leader",
    untouched=(
        "of the other topic, what brokers lead that the fault does not name they lead as before, and take"
        " records, meanwhile and afterwards"
    ),
)
async def brokers_die(peer: Peer) -> None:
    await _go_down(peer, "broker_kill")


@pytest.mark.control(
    "broker_restart",
    client="the open connection ends; who connects is refused; another broker takes the record",
    broker="it does not answer over INTERNAL either; the others agree on another leader",
    untouched=(
        "of the other topic, what brokers lead that the fault does not name they lead as before, and take"
        " records, meanwhile and afterwards"
    ),
)
async def brokers_restart(peer: Peer) -> None:
    await _go_down(peer, "broker_restart")


async def _go_down(peer: Peer, kind: str) -> None:
    leader = await peer.leader()
    connection = peer.to(leader)
    await connection.versions()
    async with peer.under(kind, leader):
        with pytest.raises(NotYet):
            await connection.versions()
        with pytest.raises(NotYet) as refused:
            await peer.told(leader)
        assert isinstance(refused.value.__cause__, ConnectionRefusedError)
        with pytest.raises(NotYet):
            await peer.internal(leader)
        await peer.hears("NONE")
        assert await peer.leader() != leader
    assert await peer.internal(leader)


@pytest.mark.control(
    "topic_recreate",
    client="Produce is answered UNKNOWN_TOPIC_OR_PARTITION",
    broker="no broker knows the topic; afterwards it has another id, and its log begins at 0",
    untouched=("the other topic's partitions are led as before, and take records, meanwhile and afterwards"),
)
async def topics_are_replaced(peer: Peer) -> None:
    before = await peer.known(1)
    async with peer.under("topic_recreate"):
        assert await peer.produce(1) == "UNKNOWN_TOPIC_OR_PARTITION"
        for node_id in peer.cluster.node_ids:
            assert (await peer.known(node_id)).error_code is ErrorCode.unknown_topic_or_partition
    assert await peer.cluster.admin.list_offsets(peer.lane.topic, 0, EARLIEST) == 0
    assert (await peer.known(1)).topic_id != before.topic_id


def controls() -> list[Callable[[Peer], Awaitable[None]]]:
    """All that is marked as one here, in the order in which it is written."""
    functions = (value for value in globals().values() if callable(value))
    return [f for f in functions if any(m.name == "control" for m in getattr(f, "pytestmark", ()))]


def test_each_fault_is_seen_by_a_client_and_gone_when_it_ends(tmp_path: Path) -> None:
    async def steps() -> None:
        async with (
            LOCAL.cluster("4.3.1x3", lanes=1, log_dir=tmp_path) as cluster,
            TOXIPROXY.server(tmp_path) as server,
            open_lane(cluster, server) as lane,
        ):
            assert isinstance(cluster, LocalCluster)
            await cluster.create_topic("t", 1)
            await cluster.create_topic(BESIDE, 3)
            frames: list[Frame] = []
            lane.witness.record(frames.append)
            on = LiveLane(lane.proxies, lane.witness, cluster, "t")
            peer = Peer(on, cluster, frames, cluster.internal_addresses)
            for seen in controls():
                await seen(peer)
            await lane.assert_pristine()
            assert cluster.died() is None

    asyncio.run(steps())
