"""The elements that the witness decodes are counted in every frame: read, repeated, invalid, and in both directions."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from harness.wire.apis import Api
from harness.wire.embedded_protocol import write_assignment
from harness.wire.frames import frame
from harness.wire.messages import encode_request, encode_response, make, message_class, nested
from harness.wire.records import BatchBuilder
from harness.witness.transcript import Transcript

T_NS = 1
NO_TIME = timedelta(0)


def produce(partitions: int, records: bytes | None = None, topics: int = 1) -> bytes:
    """Return a Produce request whose arrays have ``topics * (1 + partitions)`` elements."""
    kind: Any = message_class(Api.PRODUCE, 9, "request")
    of_partition, of_topic = nested(kind, "PartitionProduceData"), nested(kind, "TopicProduceData")
    parts = tuple(of_partition(index=index, records=records) for index in range(partitions))
    data = tuple(of_topic(name=str(number), partition_data=parts) for number in range(topics))
    return encode_request(make(kind, acks=1, timeout=NO_TIME, topic_data=data, topic_id=None), 7, "c")


def answer(partitions: int) -> bytes:
    kind: Any = message_class(Api.PRODUCE, 9, "response")
    of_topic, of_partition = nested(kind, "TopicProduceResponse"), nested(kind, "PartitionProduceResponse")
    parts = tuple(
        make(of_partition, index=index, error_code=3, base_offset=-1, record_errors=(), error_message=None)
        for index in range(partitions)
    )
    topic = of_topic(name="0", partition_responses=parts)
    return encode_response(make(kind, responses=(topic,), throttle_time=NO_TIME), 7)


@pytest.fixture
def counted() -> list[int]:
    return []


@pytest.fixture
def transcript(counted: list[int]) -> Transcript:
    return Transcript(0, 1, 1, {}, count=counted.append)


def test_arrays_and_parts_of_both_directions_count(transcript: Transcript, counted: list[int]) -> None:
    (asked,) = transcript.sent(T_NS, produce(5, topics=3))
    (answered,) = transcript.answered(T_NS, answer(40))
    assert (asked.note, answered.note) == (None, None)
    assert counted == [3 * (1 + 5) + len(asked.produce), 1 + 40]


def test_every_batch_counts(transcript: Transcript, counted: list[int]) -> None:
    builder = BatchBuilder()
    builder.append(0, None, b"x")
    list(transcript.sent(T_NS, produce(2, builder.build() * 30)))
    assert counted == [1 + 2 + 2 * 30]


def test_a_message_that_is_remembered_counts_again(transcript: Transcript, counted: list[int]) -> None:
    for _ in range(3):
        list(transcript.sent(T_NS, produce(5)))
    assert counted == [1 + 5 + 5] * 3


def test_what_is_decoded_of_an_invalid_frame_counts(transcript: Transcript, counted: list[int]) -> None:
    whole = produce(1_000)[4:]
    for payload in (whole[:-1], whole + b"\0"):
        (row,) = transcript.sent(T_NS, frame(payload))
        assert "body not read" in (row.note or "")
    assert counted == [1 + 1_000] * 2


def test_partitions_of_assignments_count(transcript: Transcript, counted: list[int]) -> None:
    kind: Any = message_class(Api.SYNC_GROUP, 3, "request")
    given = write_assignment([("t", index) for index in range(100)], b"\0\3" + bytes(12))
    each = nested(kind, "SyncGroupRequestAssignment")(member_id="m", assignment=given)
    message = make(
        kind, group_id="g", generation_id=1, member_id="m", group_instance_id=None, assignments=(each,) * 50
    )
    list(transcript.sent(T_NS, encode_request(message, 1, "c")))
    assert counted[0] >= 50 + 50 * 100
