"""Arbitrary bytes get an answer or a closed connection, never an exception, and the cluster continues."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.wire.apis import Api
from harness.wire.messages import encode_request, message_class

HEADERS = st.tuples(st.integers(0, 100), st.integers(-1, 20)).map(
    lambda it: it[0].to_bytes(2, "big") + it[1].to_bytes(2, "big", signed=True) + bytes(8)
)


@given(st.binary(max_size=80) | st.tuples(HEADERS, st.binary(max_size=80)).map(b"".join))
@example(b"")
def test_garbage_is_answered_or_closes_the_connection(client, payload):
    it = client()
    answer = it.cluster.handle(1, 1, payload, 0)
    assert (answer.frame is None) == answer.close
    assert bool(it.cluster.closed) == answer.close
    assert it.metadata("t").topics[0].name == "t"


@given(st.data())
def test_a_damaged_produce_request_is_answered_or_closes_the_connection(
    client, batch, build, structure, data
):
    version = data.draw(st.integers(3, 12))
    part = structure(Api.PRODUCE, version, "request", "PartitionProduceData")
    named = structure(Api.PRODUCE, version, "request", "TopicProduceData")
    kind = message_class(Api.PRODUCE, version, "request")
    message = build(
        kind,
        transactional_id=None,
        acks=data.draw(st.sampled_from([-1, 0, 1])),
        timeout=timedelta(0),
        topic_data=(named(name="t", partition_data=(part(index=0, records=batch(3, (1, 0, 0))),)),),
    )
    payload = bytearray(encode_request(message, 1, "c")[4:])
    for _ in range(data.draw(st.integers(1, 4))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    it = client()
    answer = it.cluster.handle(1, 1, bytes(payload[: data.draw(st.integers(0, len(payload)))]), 0)
    assert answer.close == bool(it.cluster.closed)
    it.cluster.read_log("t")


@pytest.mark.parametrize(
    ("api", "version"), [(Api.FETCH, 12), (Api.JOIN_GROUP, 5), (Api.INIT_PRODUCER_ID, 6)]
)
def test_an_unsupported_api_closes_the_connection_with_a_reason(client, api, version):
    payload = int(api).to_bytes(2, "big") + version.to_bytes(2, "big") + bytes(80)
    it = client()
    assert it.cluster.handle(1, 4, payload, 0).close
    (node_id, conn, why) = it.cluster.closed[0]
    assert (node_id, conn) == (1, 4)
    assert why


def test_an_unsupported_version_closes_the_connection(client):
    it = client(version="3.9.2")
    assert it.request(
        Api.METADATA,
        13,
        topics=(),
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
    ).answer.close
    assert "Metadata version 13" in it.cluster.closed[0][2]
