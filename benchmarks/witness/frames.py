"""The measured traffic: one Produce request of any size, and its response. The correlation id changes each time."""

from __future__ import annotations

from datetime import timedelta

from kio.schema.errors import ErrorCode

from harness.wire.apis import Api
from harness.wire.messages import encode_request, encode_response, make, message_class, nested
from harness.wire.records import BATCH_OVERHEAD_BYTES, BatchBuilder

VERSION = 9
#: The offset of the correlation id in a request frame.
CORRELATION_AT = 8


def produce(size_bytes: int) -> bytes:
    """Return a Produce request whose frame has about this size."""
    kind = message_class(Api.PRODUCE, VERSION, "request")
    topic = nested(kind, "TopicProduceData")
    builder = BatchBuilder()
    builder.append(1_700_000_000_000, None, bytes(max(1, size_bytes - BATCH_OVERHEAD_BYTES - 55)))
    part = make(nested(kind, "PartitionProduceData"), index=0, records=builder.build(7, 0, 0))
    message = make(
        kind,
        transactional_id=None,
        acks=-1,
        timeout=timedelta(seconds=3),
        topic_data=(make(topic, name="t", partition_data=(part,)),),
    )
    return encode_request(message, 0, "client")


def produced() -> bytes:
    """Return the response."""
    kind = message_class(Api.PRODUCE, VERSION, "response")
    topic = nested(kind, "TopicProduceResponse")
    part = make(
        nested(kind, "PartitionProduceResponse"),
        index=0,
        error_code=ErrorCode.none,
        base_offset=1,
        record_errors=(),
    )
    topics = (make(topic, name="t", partition_responses=(part,)),)
    return encode_response(make(kind, responses=topics, throttle_time=timedelta(0)), 0)
