"""Faults of producer state, coordinators and quotas."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
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
from kio.schema.types import ProducerId, TopicName, TransactionalId
from kio.static.primitive import i8, i16, i32

from harness.brokers.admin import metadata_request
from harness.brokers.connection import BrokerConnection, NotYet, require
from harness.brokers.deadline import insist

from .conftest import TEN_SECONDS, Peer

pytestmark = pytest.mark.jvm

TRANSACTIONAL_ID = "a transaction"


@pytest.mark.control(
    "producer_id_expiry",
    client="a sequence that was out of order is accepted",
    broker="the leader has no state of the producer (DescribeProducers)",
    untouched=(
        "no record of the topic is deleted; the other topic's partitions keep their leaders, and accept "
        "records, during the fault and afterwards; producers without an id are served"
    ),
)
async def test_producers_are_forgotten(peer: Peer) -> None:
    """Sequence 7 is out of order for a known producer, and accepted from an unknown one."""
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
    await peer.eventually("NONE", **me, base_sequence=0)
    assert await peer.produce(await peer.leader(), **me, base_sequence=7) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert answer in await _remembered(peer)
    size = await peer.log_size()
    async with peer.under("producer_id_expiry"):
        await insist("forgetting", 30, lambda: _forgotten(peer, answer))
        assert await peer.log_size() == size
        await peer.eventually("NONE", **me, base_sequence=7)
    await peer.eventually("NONE", **me, base_sequence=8)
    assert await peer.produce(await peer.leader(), **me, base_sequence=99) == "OUT_OF_ORDER_SEQUENCE_NUMBER"


async def _identified(connection: BrokerConnection, request: Any) -> int:
    answer = await connection.request(request, InitProducerIdResponse)
    require(answer.error_code, "InitProducerId")
    return int(answer.producer_id)


async def _remembered(peer: Peer) -> set[int]:
    """Return the producers in the leader's producer state."""
    asked = TopicRequest(name=TopicName(peer.lane.topic), partition_indexes=(i32(0),))
    request = DescribeProducersRequest(topics=(asked,))
    answer = await peer.cluster.admin.ask(request, DescribeProducersResponse, await peer.leader())
    return {int(producer.producer_id) for producer in answer.topics[0].partitions[0].active_producers}


async def _forgotten(peer: Peer, producer_id: int) -> None:
    if producer_id in await _remembered(peer):
        raise NotYet("made-up", "the leader remembers it")


@pytest.mark.control(
    "coordinator_move",
    client="the former coordinator of a transactional id responds NOT_COORDINATOR, and another broker accepts it",
    broker="every broker names another coordinator",
    untouched=(
        "the topics' own partitions keep their leaders, and accept records, during the fault and afterwards; "
        "producers without a transactional id are served"
    ),
)
async def test_coordinators_move(peer: Peer) -> None:
    before = await insist("finding a coordinator", 30, lambda: _coordinator(peer, 1))
    await _until_coordinator_responds(peer, before, ErrorCode.none)
    led = await peer.leader()
    async with peer.under("coordinator_move", before):
        found = {
            await insist("finding it", 30, partial(_coordinator, peer, n)) for n in peer.cluster.node_ids
        }
        assert len(found) == 1 and before not in found
        await _until_coordinator_responds(peer, before, ErrorCode.not_coordinator)
        await _until_coordinator_responds(peer, found.pop(), ErrorCode.none)
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


async def _until_coordinator_responds(peer: Peer, node_id: int, expected: ErrorCode) -> None:
    """Return once a broker responds so to InitProducerId with the transactional id, which it may have to load first."""
    request = InitProducerIdRequest(
        transactional_id=TransactionalId(TRANSACTIONAL_ID),
        transaction_timeout=TEN_SECONDS,
        producer_id=ProducerId(-1),
        producer_epoch=i16(-1),
    )

    async def matches() -> None:
        connection = peer.to(node_id)
        try:
            answer = await connection.request(request, InitProducerIdResponse)
        finally:
            connection.close()
        if answer.error_code is not expected:
            raise NotYet("answered-otherwise", "{error}", error=answer.error_code.name)

    await insist(f"a response with {expected.name}", 30, matches)


@pytest.mark.control(
    "quota",
    client="a response to Produce has a throttle time, and no error",
    broker="every record is in the log; DescribeClientQuotas returns the quota",
    untouched=(
        "Metadata responses have no throttle time; the other topic's partitions keep their leaders, and accept "
        "records, during the fault and afterwards; afterwards no response has a throttle time"
    ),
)
async def test_quotas_are_set(peer: Peer) -> None:
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
        raise NotYet("made-up", "the quotas are {found}", found=found)
