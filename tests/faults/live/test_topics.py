"""Faults that limit, grow, trim and replace a topic."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.metadata.v12 import MetadataResponse

from harness.brokers.admin import EARLIEST, LATEST, metadata_request

from .conftest import Peer

pytestmark = pytest.mark.jvm


@pytest.mark.control(
    "message_size_limit",
    client="the response to a large record is MESSAGE_TOO_LARGE, a small one is accepted",
    broker="the large record is not in the log, the small one is",
    untouched=(
        "the other topic's partitions take large records, and are led as before, during the fault and afterwards"
    ),
)
async def test_sizes_are_limited(peer: Peer) -> None:
    async with peer.under("message_size_limit", bytes=200):
        await peer.eventually("MESSAGE_TOO_LARGE", size_bytes=300)
        size = await peer.log_size()
        assert await peer.produce(await peer.leader(), size_bytes=300) == "MESSAGE_TOO_LARGE"
        assert await peer.log_size() == size
        await peer.eventually("NONE", size_bytes=20)
        assert await peer.log_size() == size + 1
    await peer.eventually("NONE", size_bytes=300)


@pytest.mark.control(
    "topic_growth",
    client="Metadata lists three partitions instead of one",
    broker="all brokers agree on the leaders of three partitions",
    untouched=(
        "the other topic's partitions keep their leaders, and accept records, during the fault and afterwards"
    ),
)
async def test_topics_grow(peer: Peer) -> None:
    async with peer.under("topic_growth", partitions=2):
        assert len(await peer.cluster.partitions(peer.lane.topic)) == 3
        connection = peer.to(1)
        [found] = (await connection.request(metadata_request(peer.lane.topic), MetadataResponse)).topics
        assert len(found.partitions) == 3
        connection.close()


@pytest.mark.control(
    "log_trim",
    client="a response to Produce has that record as the log start",
    broker="the log begins at its former end, and continues there",
    untouched=(
        "the other topic's partitions keep their leaders, and accept records, during the fault and afterwards; "
        "their logs begin at the same offsets"
    ),
)
async def test_logs_are_trimmed(peer: Peer) -> None:
    admin, topic = peer.cluster.admin, peer.lane.topic
    await peer.eventually("NONE")
    async with peer.under("log_trim"):
        end = await admin.list_offsets(topic, 0, LATEST)
        assert await admin.list_offsets(topic, 0, EARLIEST) == end > 0
        answer = await peer.result_of_produce(await peer.leader())
        assert (answer.error_code, answer.base_offset, answer.log_start_offset) == (0, end, end)


@pytest.mark.control(
    "topic_recreate",
    client="the response to Produce is UNKNOWN_TOPIC_OR_PARTITION",
    broker="no broker knows the topic; afterwards it has another id, and its log begins at 0",
    untouched=(
        "the other topic's partitions keep their leaders, and accept records, during the fault and afterwards"
    ),
)
async def test_topics_are_replaced(peer: Peer) -> None:
    before = await peer.known(1)
    async with peer.under("topic_recreate"):
        assert await peer.produce(1) == "UNKNOWN_TOPIC_OR_PARTITION"
        for node_id in peer.cluster.node_ids:
            assert (await peer.known(node_id)).error_code is ErrorCode.unknown_topic_or_partition
    assert await peer.cluster.admin.list_offsets(peer.lane.topic, 0, EARLIEST) == 0
    assert (await peer.known(1)).topic_id != before.topic_id
