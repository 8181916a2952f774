"""Faults that change a broker's responses: the named field changes, and no other field or response."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from kio.schema.api_versions.v0 import ApiVersionsResponse
from kio.schema.api_versions.v3 import ApiVersionsRequest
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v12 import FetchRequest, FetchResponse
from kio.schema.fetch.v12.response import FetchableTopicResponse, PartitionData
from kio.schema.metadata.v12 import MetadataRequest, MetadataResponse
from kio.schema.metadata.v12.response import (
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kio.schema.produce.v9 import ProduceRequest, ProduceResponse
from kio.schema.produce.v9.request import PartitionProduceData, TopicProduceData
from kio.schema.produce.v9.response import PartitionProduceResponse, TopicProduceResponse
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import Records, i16, i32, i32Timedelta, i64

from harness.model.spec import FrameMatch
from harness.wire.apis import Api
from harness.wire.records import BatchBuilder

T = TopicName("t")


def batch() -> Records:
    builder = BatchBuilder()
    builder.append(1_700_000_000_000, b"k", b"v")
    return Records(builder.build())


PRODUCE = ProduceRequest(
    transactional_id=None,
    acks=i16(-1),
    timeout=i32Timedelta.parse(timedelta(seconds=10)),
    topic_data=(
        TopicProduceData(
            name=T,
            partition_data=tuple(PartitionProduceData(index=i32(n), records=batch()) for n in (0, 1)),
        ),
    ),
)
APPENDED = tuple(
    PartitionProduceResponse(
        index=i32(n), error_code=ErrorCode.none, base_offset=i64(7), log_start_offset=i64(0), record_errors=()
    )
    for n in (0, 1)
)
PRODUCED = ProduceResponse(responses=(TopicProduceResponse(name=T, partition_responses=APPENDED),))

FETCH = FetchRequest(
    replica_id=BrokerId(-1),
    max_wait=i32Timedelta.parse(timedelta()),
    min_bytes=i32(1),
    session_epoch=i32(-1),
    topics=(),
    forgotten_topics_data=(),
)


def read(second: bytes) -> FetchResponse:
    """Return a response with two batches of the first partition with records, of which one is given."""
    records = (b"", bytes(batch()) + second, bytes(batch()))
    return FetchResponse(
        throttle_time=i32Timedelta.parse(timedelta()),
        error_code=ErrorCode.none,
        responses=(
            FetchableTopicResponse(
                topic=T,
                partitions=tuple(
                    PartitionData(
                        partition_index=i32(n),
                        error_code=ErrorCode.none,
                        high_watermark=i64(1),
                        aborted_transactions=None,
                        records=Records(each),
                    )
                    for n, each in enumerate(records)
                ),
            ),
        ),
    )


READ = read(bytes(batch()))

METADATA = MetadataRequest(
    topics=None, allow_auto_topic_creation=False, include_topic_authorized_operations=False
)


def known(leader_id: int, leader_epoch: int, *node_ids: int) -> MetadataResponse:
    return MetadataResponse(
        throttle_time=i32Timedelta.parse(timedelta()),
        brokers=tuple(
            MetadataResponseBroker(node_id=BrokerId(n), host="h", port=i32(9_000 + n)) for n in node_ids
        ),
        topics=(
            MetadataResponseTopic(
                error_code=ErrorCode.none,
                name=T,
                topic_id=None,
                partitions=(
                    MetadataResponsePartition(
                        error_code=ErrorCode.none,
                        partition_index=i32(0),
                        leader_id=BrokerId(leader_id),
                        leader_epoch=i32(leader_epoch),
                        replica_nodes=(BrokerId(1), BrokerId(2)),
                        isr_nodes=(BrokerId(1), BrokerId(2)),
                    ),
                ),
            ),
        ),
    )


TRUE = known(1, 5, 1, 2)


def answering(stage: Any) -> Any:
    """Return the lane with the fault, with clients on it and on another one, and brokers that answer Produce,
    Metadata and Fetch.
    """
    for path in stage.paths:
        path.upstream.answers = {Api.PRODUCE: PRODUCED, Api.METADATA: TRUE, Api.FETCH: READ}
    victim = stage.paths[0]
    return victim, *(bystander.client for bystander in victim.bystanders)


@pytest.mark.control(
    "error_response",
    client=(
        "one response to Produce has the code for one partition; the other partition and the next response "
        "do not"
    ),
    broker="the request arrives, and the broker's response says that both partitions were appended",
    untouched=(
        "same lane: another connection, after the one changed response, and after the fault; "
        "neighbour lane: an open connection and new ones, during the fault and afterwards"
    ),
)
def test_error_response_changes_one_partition_of_one_response(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, beside, elsewhere = answering(stage)
        params = {"code": 6, "partition": 1, "after_append": 1}
        async with victim.under("error_response", hits=1, **params) as fault:
            client = await victim.connect()
            await fault.start()
            assert await elsewhere.exchange(1, PRODUCE) == PRODUCED
            refused = replace(APPENDED[1], error_code=ErrorCode.not_leader_or_follower, base_offset=i64(-1))
            told = TopicProduceResponse(name=T, partition_responses=(APPENDED[0], refused))
            assert await client.exchange(1, PRODUCE) == replace(PRODUCED, responses=(told,))
            assert victim.upstream.arrived() == [1]
            assert await client.exchange(2, PRODUCE) == PRODUCED
            assert await beside.exchange(3, PRODUCE) == PRODUCED
            await fault.stop()

    on_stage(scenario, beside=True)


@pytest.mark.control(
    "changed_error",
    client="the matching response has the code for all partitions; the ones before and after it do not",
    broker="each request arrives, and each response of the broker says that both partitions were appended",
    untouched=(
        "same lane: another connection, after the one changed response, and after the fault; "
        "neighbour lane: an open connection and new ones, during the fault and afterwards"
    ),
)
def test_changed_error_changes_the_second_response(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, beside, elsewhere = answering(stage)
        async with victim.under("changed_error", FrameMatch("Produce", first=2), code=59, hits=1) as fault:
            client = await victim.connect()
            await fault.start()
            assert await client.exchange(1, PRODUCE) == PRODUCED
            refused = tuple(
                replace(part, error_code=ErrorCode.unknown_producer_id, base_offset=i64(-1))
                for part in APPENDED
            )
            told = TopicProduceResponse(name=T, partition_responses=refused)
            assert [await elsewhere.exchange(n, PRODUCE) for n in (1, 2)] == [PRODUCED] * 2
            assert await client.exchange(2, PRODUCE) == replace(PRODUCED, responses=(told,))
            assert await client.exchange(3, PRODUCE) == PRODUCED
            assert victim.upstream.arrived() == [1, 2, 3]
            assert await beside.exchange(4, PRODUCE) == PRODUCED
            await fault.stop()

    on_stage(scenario, beside=True)


@pytest.mark.control(
    "damaged_batch",
    client="one bit of the second batch of the second response differs; the responses before and after it do not",
    broker="each request arrives, and each response of the broker has batches with the right checksum",
    untouched=(
        "same lane: another connection, after the one changed response, and after the fault; "
        "neighbour lane: an open connection and new ones, during the fault and afterwards"
    ),
)
@pytest.mark.parametrize(("records", "at_byte"), [(0, 17), (1, -2)])
def test_damaged_batch_has_a_wrong_checksum(on_stage: Any, records: int, at_byte: int) -> None:
    async def scenario(stage: Any) -> None:
        victim, beside, elsewhere = answering(stage)
        params = {"batch": 1, "records": records}
        async with victim.under("damaged_batch", FrameMatch("Fetch", first=2), hits=1, **params) as fault:
            client = await victim.connect()
            await fault.start()
            assert await client.exchange(1, FETCH) == READ
            assert [await elsewhere.exchange(n, FETCH) for n in (1, 2)] == [READ] * 2
            changed = bytearray(batch())
            changed[at_byte] ^= 1
            assert await client.exchange(2, FETCH) == read(bytes(changed))
            assert await client.exchange(3, FETCH) == READ
            assert victim.upstream.arrived() == [1, 2, 3]
            assert await beside.exchange(4, FETCH) == READ
            await fault.stop()

    on_stage(scenario, beside=True)


@pytest.mark.control(
    "throttle",
    client=(
        "every response to Produce has the throttle time until the fault ends, and is otherwise unchanged"
    ),
    broker=(
        "the requests arrive, also after a throttled response, and the broker's responses have no throttle time"
    ),
    untouched=(
        "same lane: responses of another API, on the same connection and on another; "
        "neighbour lane: every response, during the fault and afterwards"
    ),
)
def test_throttle_reports_a_throttle_time(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, _, elsewhere = answering(stage)
        async with victim.under("throttle", throttle_ms=300, hits=2, elsewhere=None) as fault:
            client = await victim.connect()
            await fault.start()
            throttled = replace(PRODUCED, throttle_time=i32Timedelta.parse(timedelta(milliseconds=300)))
            assert [await client.exchange(n, PRODUCE) for n in (1, 2)] == [throttled] * 2
            assert victim.upstream.arrived() == [1, 2]
            assert await client.round_trip(3)
            assert await elsewhere.exchange(1, PRODUCE) == PRODUCED
            await fault.stop()
        assert await client.exchange(4, PRODUCE) == PRODUCED
        assert await elsewhere.exchange(2, PRODUCE) == PRODUCED

    on_stage(scenario, beside=True)


@pytest.mark.control(
    "stale_metadata",
    client="every Metadata response names the other leader, in the older epoch, and omits the one broker",
    broker="the requests arrive, and the broker's responses name the true leader, its epoch and all brokers",
    untouched=(
        "same lane: responses of another API, on the same connection and on another; "
        "neighbour lane: every response, during the fault and afterwards"
    ),
)
def test_stale_metadata_names_another_leader(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, _, elsewhere = answering(stage)
        params = {"leader_id": 2, "epochs_back": 3, "unnamed_id": 2}
        async with victim.under("stale_metadata", hits=2, **params) as fault:
            client = await victim.connect()
            await fault.start()
            assert [await client.exchange(n, METADATA) for n in (1, 2)] == [known(2, 2, 1)] * 2
            assert victim.upstream.arrived() == [1, 2]
            assert await client.round_trip(3)
            assert await elsewhere.exchange(1, METADATA) == TRUE
            await fault.stop()
        assert await client.exchange(4, METADATA) == TRUE
        assert await elsewhere.exchange(2, METADATA) == TRUE

    on_stage(scenario, beside=True)


@pytest.mark.control(
    "unsupported_version",
    client=(
        "the first response to ApiVersions is UNSUPPORTED_VERSION in version 0, the next is as the broker "
        "writes it"
    ),
    broker="the request arrives, and the broker's response is in version 3, without an error",
    untouched=(
        "same lane: another connection, after the one changed response, and after the fault; "
        "neighbour lane: an open connection and new ones, during the fault and afterwards"
    ),
)
def test_unsupported_version_is_answered_in_version_0(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, _ = stage.paths
        async with victim.under("unsupported_version", hits=1) as fault:
            [bystander] = victim.bystanders
            assert await bystander.is_served()
            client, beside = await victim.connect(), await victim.connect()
            await fault.start()
            asked = ApiVersionsRequest(client_software_name="test", client_software_version="1")
            refused = ApiVersionsResponse(error_code=ErrorCode.unsupported_version, api_keys=())
            assert await client.exchange(1, asked) == refused
            assert victim.upstream.arrived() == [1]
            assert await client.round_trip(2) and await beside.round_trip(3)
            await fault.stop()
            assert await beside.round_trip(4)

    on_stage(scenario)
