"""Frames for the witness, built by the wire codec, and a connection through it on real sockets.

The client, the witness of one lane, and the server behind it run in one event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, get_args, get_type_hints
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode

from harness.model.addresses import LaneAddress
from harness.model.rows import Frame, FrameKind
from harness.system.port_allocator import port_block
from harness.wire.apis import Api
from harness.wire.messages import encode_request, encode_response, message_class
from harness.wire.records import BatchBuilder, Codec
from harness.witness import WitnessLane


def part_of(kind: type[Any], field: str) -> type[Any]:
    """Return the class of the elements of a tuple field."""
    element: type[Any] = get_args(get_type_hints(kind)[field])[0]
    return element


class Frames:
    """Builds frames, with one method for each kind; ``n`` is the correlation id."""

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


@dataclass
class Ends:
    """Both ends of one connection through the witness."""

    lane: WitnessLane
    rows: list[Frame]
    client_in: asyncio.StreamReader
    client_out: asyncio.StreamWriter
    broker_in: asyncio.StreamReader
    broker_out: asyncio.StreamWriter
    accepted: asyncio.Queue[Any]

    async def rows_until(self, kind: FrameKind) -> list[Frame]:
        """Wait for a row of that kind, and return all rows."""
        seen = asyncio.Event()

        def watch(row: Frame) -> None:
            if row.kind == kind:
                seen.set()

        self.lane.watch(watch)
        if all(row.kind != kind for row in self.rows):
            await seen.wait()
        self.lane.unwatch(watch)
        return self.rows


@asynccontextmanager
async def _accepting() -> AsyncIterator[tuple[int, asyncio.Queue[Any]]]:
    """Run a server that queues its connections as (reader, writer)."""
    accepted: asyncio.Queue[Any] = asyncio.Queue()
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        accepted.put_nowait((reader, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], accepted
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await server.wait_closed()


@asynccontextmanager
async def _witnessed(lane: WitnessLane) -> AsyncIterator[Ends]:
    rows: list[Frame] = []
    async with _accepting() as (port, accepted):
        with port_block(2) as ports:
            address = LaneAddress(0, 1, *(("127.0.0.1", at) for at in (*ports, port)))
            await lane.open([address])
            lane.record(rows.append)
            client_in, client_out = await asyncio.open_connection(*address.witness)
            try:
                yield Ends(lane, rows, client_in, client_out, *await accepted.get(), accepted)
            finally:
                client_out.transport.abort()
                await lane.close()


Scenario = Callable[[Ends], Coroutine[Any, Any, None]]


def _run(scenario: Scenario, lane: Callable[[], WitnessLane] = lambda: WitnessLane(0)) -> None:
    async def main() -> None:
        async with asyncio.timeout(30), _witnessed(lane()) as ends:
            await scenario(ends)

    asyncio.run(main())


@pytest.fixture(scope="session")
def accepting() -> Callable[[], AbstractAsyncContextManager[tuple[int, asyncio.Queue[Any]]]]:
    """Return a context manager of a server: ``async with accepting() as (port, accepted)``."""
    return _accepting


@pytest.fixture(scope="session")
def play() -> Callable[..., None]:
    """Return ``play(scenario, lane)``, which runs a coroutine function on a connection through a made lane."""
    return _run
