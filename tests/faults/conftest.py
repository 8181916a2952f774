"""A stage for faults: real Toxiproxy, real witness, and a small server that answers Kafka frames.

``client -> Toxiproxy -> witness -> upstream``, on as many lanes as a test asks for; all of it in one event loop, and
all of it gone when the test ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from kio.schema.errors import ErrorCode

from faults.toxiproxy import Toxiproxy
from harness.lane import LiveLane
from harness.ports import Cluster, LaneAddress, Proxy, ProxyServer
from harness.ports_block import port_block
from harness.rows import Frame, FrameKind
from harness.wire.apis import Api
from harness.wire.messages import encode_request, encode_response, message_class
from harness.witness import WitnessLane


def request(n: int) -> bytes:
    kind = message_class(Api.API_VERSIONS, 3, "request")
    return encode_request(kind(client_software_name="test", client_software_version="1"), n, "p1")


def response(n: int) -> bytes:
    kind = message_class(Api.API_VERSIONS, 3, "response")
    return encode_response(kind(error_code=ErrorCode.none, api_keys=(), throttle_time=timedelta()), n)


class Upstream:
    """Answers every request at once; ``asked`` are the correlation ids, ``ends`` how connections ended."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[int] = asyncio.Queue()
        self.ends: asyncio.Queue[str] = asyncio.Queue()
        self.writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        try:
            while size := await reader.read(4):
                size += await reader.readexactly(4 - len(size))
                payload = await reader.readexactly(int.from_bytes(size))
                n = int.from_bytes(payload[4:8])
                self.asked.put_nowait(n)
                writer.write(response(n))
            self.ends.put_nowait("fin")
        except ConnectionResetError:
            self.ends.put_nowait("rst")
        finally:
            writer.transport.abort()


class Client:
    """One connection of a client through the proxy."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def ask(self, n: int) -> None:
        self.writer.write(request(n))

    async def answer(self) -> int:
        size = int.from_bytes(await self.reader.readexactly(4))
        return int.from_bytes((await self.reader.readexactly(size))[:4])

    async def round_trip(self, n: int) -> bool:
        self.ask(n)
        return await self.answer() == n


@dataclass
class LanePath:
    """One lane with one broker."""

    proxy: Proxy
    witness: WitnessLane
    upstream: Upstream
    rows: list[Frame] = field(default_factory=list)
    clients: list[Client] = field(default_factory=list)

    @property
    def lane(self) -> LiveLane:
        """For the faults of the network: there is no cluster behind it."""
        return LiveLane((self.proxy,), self.witness, cast("Cluster", None), "t")

    async def connect(self) -> Client:
        client = Client(*await asyncio.open_connection(*self.proxy.address.advertised))
        self.clients.append(client)
        return client

    async def seen(self, kind: FrameKind, count: int = 1) -> None:
        """Return once the witness has ``count`` rows of that kind."""
        enough = asyncio.Event()

        def look(_: Frame) -> None:
            if sum(row.kind == kind for row in self.rows) >= count:
                enough.set()

        self.witness.watch(look)
        if self.rows:
            look(self.rows[-1])
        await enough.wait()
        self.witness.unwatch(look)

    response_bytes = len(response(1))
    request_of = staticmethod(request)

    async def passed_upstream(self, count: int) -> None:
        """Return once the witness has passed on the first so many bytes of a request."""
        [relay] = self.witness._relays
        while relay._transcript._requests.pending_bytes < count:  # noqa: ASYNC110
            await asyncio.sleep(0)  # a chunk that ends inside a frame is no event

    async def canary(self) -> bool:
        """True if the proxy is as new: nothing on it, and a new connection works."""
        return await self.proxy.pristine() and await (await self.connect()).round_trip(99)


@dataclass
class Stage:
    server: ProxyServer
    paths: Sequence[LanePath]


Staging = Callable[..., Any]


@pytest.fixture
def staged(tmp_path: Path) -> Staging:
    """``async with staged(lanes) as stage``."""

    @asynccontextmanager
    async def stage(lanes: int = 2, timeout_s: float = 4.0) -> AsyncIterator[Stage]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(asyncio.timeout(60))
            ports = stack.enter_context(port_block(2 * lanes))
            server = await stack.enter_async_context(Toxiproxy(timeout_s).server(tmp_path))
            paths = []
            for lane in range(lanes):
                upstream = Upstream()
                listener = await asyncio.start_server(upstream.serve, "127.0.0.1", 0)
                stack.push_async_callback(listener.wait_closed)
                stack.callback(listener.close)
                ends = (ports[2 * lane], ports[2 * lane + 1], listener.sockets[0].getsockname()[1])
                address = LaneAddress(lane, 1, *(("127.0.0.1", port) for port in ends))
                witness = WitnessLane(lane)
                await witness.open([address])
                stack.push_async_callback(witness.close)
                path = LanePath(await server.create(address), witness, upstream)
                witness.record(path.rows.append)
                paths.append(path)
            yield Stage(server, paths)
            for path in paths:
                for client in path.clients:
                    client.writer.transport.abort()

    return stage
