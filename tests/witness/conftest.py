"""Frames to feed to the witness, built by the wire codec itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from typing import Any, get_args, get_type_hints
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode

from harness.wire.apis import Api
from harness.wire.messages import encode_request, encode_response, message_class
from harness.wire.records import BatchBuilder, Codec


def part_of(kind: type[Any], field: str) -> type[Any]:
    """The class of the elements of a tuple field."""
    element: type[Any] = get_args(get_type_hints(kind)[field])[0]
    return element


class Frames:
    """One method a frame; ``n`` is the correlation id."""

    client_id = "p1"

    def batch(self, producer_id: int = 7, epoch: int = 1, sequence: int = 40, records: int = 3) -> bytes:
        builder = BatchBuilder(Codec.NONE)
        for _ in range(records):
            builder.append(1_700_000_000_000, b"key", b"value", ())
        return builder.build(producer_id, epoch, sequence)

    def produce(
        self, n: int, acks: int = -1, version: int = 9, topic: str | UUID = "t", **batch: int
    ) -> bytes:
        kind = message_class(Api.PRODUCE, version, "request")
        topic_kind = part_of(kind, "topic_data")
        partition = part_of(topic_kind, "partition_data")(index=2, records=self.batch(**batch))
        name = {"name": topic} if isinstance(topic, str) else {"topic_id": topic}
        message = kind(
            transactional_id=None,
            acks=acks,
            timeout=timedelta(seconds=3),
            topic_data=(topic_kind(**name, partition_data=(partition,)),),
        )
        return encode_request(message, n, self.client_id)

    def produced(
        self, n: int, error: int = 0, offset: int = 100, version: int = 9, topic: str | UUID = "t"
    ) -> bytes:
        kind = message_class(Api.PRODUCE, version, "response")
        topic_kind = part_of(kind, "responses")
        answer = part_of(topic_kind, "partition_responses")(
            index=2, error_code=ErrorCode(error), base_offset=offset, record_errors=()
        )
        name = {"name": topic} if isinstance(topic, str) else {"topic_id": topic}
        message = kind(
            responses=(topic_kind(**name, partition_responses=(answer,)),), throttle_time=timedelta()
        )
        return encode_response(message, n)

    def versions(self, n: int, version: int = 3) -> bytes:
        kind = message_class(Api.API_VERSIONS, version, "request")
        return encode_request(
            kind(client_software_name="test", client_software_version="1"), n, self.client_id
        )

    def versions_told(self, n: int, version: int = 3, error: int = 0) -> bytes:
        kind = message_class(Api.API_VERSIONS, version, "response")
        extra = {} if version == 0 else {"throttle_time": timedelta()}
        return encode_response(kind(error_code=ErrorCode(error), api_keys=(), **extra), n)

    def metadata(self, n: int) -> bytes:
        kind = message_class(Api.METADATA, 12, "request")
        return encode_request(kind(topics=None, include_topic_authorized_operations=False), n, self.client_id)

    def metadata_told(self, n: int, topic: str, topic_id: UUID, error: int = 0) -> bytes:
        kind = message_class(Api.METADATA, 12, "response")
        topic_kind = part_of(kind, "topics")
        row = topic_kind(error_code=ErrorCode(error), name=topic, topic_id=topic_id, partitions=())
        message = kind(throttle_time=timedelta(), brokers=(), cluster_id="c", controller_id=1, topics=(row,))
        return encode_response(message, n)


@pytest.fixture(scope="session")
def make() -> Frames:
    return Frames()


@pytest.fixture(scope="session")
def chunked() -> Callable[[bytes, list[int]], list[bytes]]:
    """Cut bytes at the given places (taken modulo the length)."""

    def cut(data: bytes, places: list[int]) -> list[bytes]:
        at = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
        return [data[low:high] for low, high in pairwise(at)]

    return cut
