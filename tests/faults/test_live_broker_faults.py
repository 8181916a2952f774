"""The faults of brokers on real ones: what an independent client sees of each, and that it sees nothing of it later.

The client here is the harness's own connection, through the lane as any client; ``Produce`` is its question.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from kio.schema.init_producer_id.v4 import InitProducerIdRequest, InitProducerIdResponse
from kio.schema.produce.v9 import ProduceRequest, ProduceResponse
from kio.schema.produce.v9.request import PartitionProduceData, TopicProduceData
from kio.schema.types import ProducerId, TopicName
from kio.static.primitive import Records, i16, i32, i32Timedelta

from faults.toxiproxy import TOXIPROXY
from harness.brokers.admin import EARLIEST, LATEST, metadata_request
from harness.brokers.connection import Connection, NotYet, require
from harness.brokers.deadline import insist
from harness.brokers.local import LOCAL
from harness.lane import LiveLane, open_lane
from harness.registry import fault as fault_kind
from harness.rows import FaultRow, Frame
from harness.spec import Elapsed, FaultSpec
from harness.wire.error_table import error_for
from harness.wire.records import BatchBuilder

pytestmark = pytest.mark.jvm

TEN_SECONDS = i32Timedelta.parse(timedelta(seconds=10))
FOR_LONG_MS = 600_000


@dataclass
class Peer:
    """Speaks through the lane to the broker that leads partition 0."""

    lane: LiveLane
    frames: list[Frame]

    async def leader(self) -> int:
        return await self.lane.cluster.leader(self.lane.topic, 0)

    def to(self, node_id: int) -> Connection:
        [proxy] = [proxy for proxy in self.lane.proxies if proxy.address.broker == node_id]
        return Connection(proxy.address.advertised)

    async def produce(self, node_id: int, size_bytes: int = 10, acks: int = -1, **producer: int) -> str:
        """The name of the error that a broker answers, ``gone`` if it does not answer."""
        builder = BatchBuilder()
        builder.append(1_700_000_000_000, b"k", b"." * size_bytes)
        records = Records(builder.build(**producer))  # type: ignore[arg-type]
        part = PartitionProduceData(index=i32(0), records=records)
        request = ProduceRequest(
            transactional_id=None,
            acks=i16(acks),
            timeout=TEN_SECONDS,
            topic_data=(TopicProduceData(name=TopicName(self.lane.topic), partition_data=(part,)),),
        )
        connection = self.to(node_id)
        try:
            answer = await connection.request(request, ProduceResponse)
        except NotYet:
            return "gone"
        finally:
            connection.close()
        return error_for(answer.responses[0].partition_responses[0].error_code).name

    async def hears(self, expected: str, **how: Any) -> None:
        """Return once the leader of the moment answers so."""

        async def heard() -> None:
            if (said := await self.produce(await self.leader(), **how)) != expected:
                raise NotYet(said)

        await insist(f"hearing {expected}", 30, heard)

    @asynccontextmanager
    async def under(self, kind: str, *brokers: int, **params: int) -> AsyncIterator[FaultRow]:
        """The fault in effect; afterwards its hits are counted, and it is over."""
        fault, spec = fault_kind(kind), FaultSpec(kind, Elapsed(0), FOR_LONG_MS, params, brokers)
        window = (0, 2**63)
        row = FaultRow(0, spec, window, window)
        await fault.prepare(spec, self.lane)
        self.frames.clear()
        await fault.start(spec, self.lane)
        yield row
        hits = fault.hits(row, self.frames)
        assert hits > 0, f"{kind} hit nothing"
        await fault.stop(spec, self.lane)
        await fault.stop(spec, self.lane)
        await self.hears("NONE")


async def leaders_move(peer: Peer) -> None:
    before = await peer.leader()
    async with peer.under("leader_move", before):
        assert await peer.leader() != before
        assert await peer.produce(before) == "NOT_LEADER_OR_FOLLOWER"


async def sizes_are_limited(peer: Peer) -> None:
    async with peer.under("message_size_limit", bytes=200):
        await peer.hears("MESSAGE_TOO_LARGE", size_bytes=300)
        await peer.hears("NONE", size_bytes=20)
    await peer.hears("NONE", size_bytes=300)


async def topics_grow(peer: Peer) -> None:
    async with peer.under("topic_growth", partitions=2):
        assert len(await peer.lane.cluster.partitions(peer.lane.topic)) == 3
        connection = peer.to(1)
        from kio.schema.metadata.v12 import MetadataResponse

        [found] = (await connection.request(metadata_request(peer.lane.topic), MetadataResponse)).topics
        assert len(found.partitions) == 3
        connection.close()


async def logs_are_trimmed(peer: Peer) -> None:
    admin, topic = peer.lane.cluster.admin, peer.lane.topic  # type: ignore[attr-defined]
    async with peer.under("log_trim"):
        assert await admin.list_offsets(topic, 0, EARLIEST) == await admin.list_offsets(topic, 0, LATEST) > 0
        await peer.hears("NONE")


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
    async with peer.under("producer_id_expiry"):
        await peer.hears("NONE", **me, base_sequence=7)
    await peer.hears("NONE", **me, base_sequence=8)
    assert await peer.produce(await peer.leader(), **me, base_sequence=99) == "OUT_OF_ORDER_SEQUENCE_NUMBER"


async def _identified(connection: Connection, request: Any) -> int:
    answer = await connection.request(request, InitProducerIdResponse)
    require(answer.error_code, "InitProducerId")
    return int(answer.producer_id)


async def brokers_stand_still(peer: Peer) -> None:
    leader = await peer.leader()
    async with peer.under("broker_pause", leader):
        assert await peer.produce(leader) == "gone"


async def replicas_fall_behind(peer: Peer) -> None:
    leader = await peer.leader()
    follower = leader % 3 + 1
    async with peer.under("min_isr", follower):
        await peer.hears("NOT_ENOUGH_REPLICAS")
        await peer.hears("NONE", acks=1)
        assert await peer.produce(follower) == "gone"


async def brokers_die(peer: Peer) -> None:
    leader = await peer.leader()
    connection = peer.to(leader)
    await connection.versions()
    async with peer.under("broker_kill", leader):
        assert await peer.produce(leader) == "gone"
        await peer.hears("NONE")
        assert await peer.leader() != leader
    connection.close()


async def topics_are_replaced(peer: Peer) -> None:
    async with peer.under("topic_recreate"):
        assert await peer.produce(1) == "UNKNOWN_TOPIC_OR_PARTITION"
    admin = peer.lane.cluster.admin  # type: ignore[attr-defined]
    assert await admin.list_offsets(peer.lane.topic, 0, EARLIEST) == 0


ALL: tuple[Callable[[Peer], Awaitable[None]], ...] = (
    leaders_move,
    sizes_are_limited,
    topics_grow,
    logs_are_trimmed,
    producers_are_forgotten,
    brokers_stand_still,
    replicas_fall_behind,
    brokers_die,
    topics_are_replaced,
)


def test_each_fault_is_seen_by_a_client_and_gone_when_it_ends(tmp_path: Path) -> None:
    async def steps() -> None:
        async with (
            LOCAL.cluster("4.3.1x3", lanes=1, log_dir=tmp_path) as cluster,
            TOXIPROXY.server(tmp_path) as server,
            open_lane(cluster, server) as lane,
        ):
            await cluster.create_topic("t", 1)
            frames: list[Frame] = []
            lane.witness.record(frames.append)
            for seen in ALL:
                await seen(Peer(LiveLane(lane.proxies, lane.witness, cluster, "t"), frames))
            await lane.assert_pristine()
            assert cluster.died() is None

    asyncio.run(steps())
