"""A scripted broker for tests of broker connections, and one event loop for the tests of a live cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, TypeVar

import psutil
import pytest
from kio.schema.api_versions.v0 import ApiVersionsResponse
from kio.schema.api_versions.v0.response import ApiVersion
from kio.schema.errors import ErrorCode
from kio.schema.produce.v9 import ProduceRequest, ProduceResponse
from kio.schema.produce.v9.request import PartitionProduceData, TopicProduceData
from kio.schema.types import TopicName, TransactionalId
from kio.static.primitive import Records, i16, i32, i32Timedelta

from harness.brokers.connection import NotYet, require
from harness.brokers.deadline import insist
from harness.brokers.local import LocalCluster
from harness.model.addresses import Address
from harness.wire.apis import Api
from harness.wire.messages import decode_request, encode_response
from harness.wire.records import BatchBuilder, Codec
from testkit.children import children

T = TypeVar("T")
TEN_SECONDS = i32Timedelta.parse(timedelta(seconds=10))

#: Returns the answer to a request: a message, raw bytes, or None to close the connection.
Handler = Callable[[Any], Any]


class ScriptedBroker:
    """A broker that answers by ``handlers`` (API key -> handler) and records the requests."""

    def __init__(self, handlers: Mapping[int, Handler], highest: int = 99) -> None:
        self.handlers = {Api.API_VERSIONS: self._api_versions} | dict(handlers)
        self.asked: list[Any] = []
        self.connections = 0
        self._highest = highest

    def _api_versions(self, _request: Any) -> ApiVersionsResponse:
        ranges = [
            ApiVersion(api_key=i16(api), min_version=i16(0), max_version=i16(self._highest)) for api in Api
        ]
        return ApiVersionsResponse(error_code=ErrorCode.none, api_keys=tuple(ranges))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                payload = await reader.readexactly(int.from_bytes(await reader.readexactly(4)))
                header, message = decode_request(payload)
                self.asked.append(message)
                answer = self.handlers[header.api_key](message)
                if answer is None:
                    return
                writer.write(
                    answer if isinstance(answer, bytes) else encode_response(answer, header.correlation_id)
                )
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Address]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield server.sockets[0].getsockname()
        finally:
            server.close()
            await server.wait_closed()


@pytest.fixture
def scripted() -> type[ScriptedBroker]:
    return ScriptedBroker


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


def our_brokers() -> list[psutil.Process]:
    return children("kafka.Kafka")


def batch(codec: Codec, count: int, size_bytes: int = 10, **producer: int) -> bytes:
    builder = BatchBuilder(codec)
    for n in range(count):
        value = f"{codec.name}-{n}-".encode()
        builder.append(1_700_000_000_000 + n, f"k{n}".encode(), value + b"." * (size_bytes - len(value)))
    return builder.build(**producer)  # type: ignore[arg-type]


async def produce(
    cluster: LocalCluster,
    topic: str,
    data: bytes,
    partition: int = 0,
    transactional_id: str | None = None,
    acks: int = -1,
) -> int:
    """Append ``data`` at the partition's leader over INTERNAL and return its base offset."""
    request = ProduceRequest(
        transactional_id=None if transactional_id is None else TransactionalId(transactional_id),
        acks=i16(acks),
        timeout=TEN_SECONDS,
        topic_data=(
            TopicProduceData(
                name=TopicName(topic),
                partition_data=(PartitionProduceData(index=i32(partition), records=Records(data)),),
            ),
        ),
    )
    leader = await cluster.admin.leader(topic, partition)
    [result] = (await cluster.admin.ask(request, ProduceResponse, leader)).responses[0].partition_responses
    require(result.error_code, "producing")
    return result.base_offset


async def until(condition: Callable[[], T | None]) -> T:
    """Wait until ``condition`` returns a true value, and return it."""

    async def attempt() -> T:
        if value := condition():
            return value
        raise NotYet("made-up", "it is not so yet")

    return await insist("waiting", 30, attempt)


@pytest.fixture(scope="session")
def lab() -> SimpleNamespace:
    """Return what the tests of live clusters share, because test modules cannot import each other."""
    return SimpleNamespace(our_brokers=our_brokers, batch=batch, produce=produce, until=until)
