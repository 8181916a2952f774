"""Real Toxiproxy and real witness with a small server that answers Kafka frames, for tests of faults.

``client -> Toxiproxy -> witness -> upstream``, on as many lanes as a test needs. All run in one event loop and end
with the test. Test modules cannot import each other, so they share helpers through the stage.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from kio.schema.errors import ErrorCode

from faults.toxiproxy import Toxiproxy
from harness.model.addresses import LaneAddress
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.model.spec import AtTime, FaultSpec, FrameMatch
from harness.plugins import registry
from harness.plugins.cluster import Cluster
from harness.plugins.fault import FaultKind, LiveLane
from harness.plugins.proxy import Proxy, ProxyServer
from harness.running.lane import Lane
from harness.system.port_allocator import port_block
from harness.wire.apis import Api
from harness.wire.messages import decode_response, encode_request, encode_response, message_class
from harness.witness import WitnessLane

T = TypeVar("T")

#: For the kinds that require parameters.
PARAMS = {
    "bandwidth": {"upstream_bytes_per_s": 1_000_000},
    "idle_kill": {"idle_ms": 600_000},
    "latency": {"upstream_ms": 5, "downstream_ms": 5},
}


def request(n: int) -> bytes:
    kind = message_class(Api.API_VERSIONS, 3, "request")
    return encode_request(kind(client_software_name="test", client_software_version="1"), n, "p1")


def response(n: int) -> bytes:
    kind = message_class(Api.API_VERSIONS, 3, "response")
    return encode_response(kind(error_code=ErrorCode.none, api_keys=(), throttle_time=timedelta()), n)


class Upstream:
    """A server that answers every request at once.

    ``asked`` are the correlation ids, and ``ends`` how connections ended. ``firsts_bytes`` is how much of each
    frame's
    size arrived first. ``answers`` has the responses to other APIs than ApiVersions, by API key.
    """

    def __init__(self) -> None:
        self.answers: dict[int, Any] = {}
        self.firsts_bytes: asyncio.Queue[int] = asyncio.Queue()
        self.asked: asyncio.Queue[int] = asyncio.Queue()
        self.ends: asyncio.Queue[str] = asyncio.Queue()
        self.writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        try:
            while size := await reader.read(4):
                self.firsts_bytes.put_nowait(len(size))
                size += await reader.readexactly(4 - len(size))
                payload = await reader.readexactly(int.from_bytes(size))
                n = int.from_bytes(payload[4:8])
                self.asked.put_nowait(n)
                message = self.answers.get(int.from_bytes(payload[:2]))
                writer.write(encode_response(message, n) if message else response(n))
            self.ends.put_nowait("fin")
        except ConnectionResetError:
            self.ends.put_nowait("rst")
        except asyncio.IncompleteReadError:
            self.ends.put_nowait("fin inside a request")
        finally:
            writer.transport.abort()

    def arrived(self) -> list[int]:
        """Return the requests of all connections that have arrived since the last call."""
        return [self.asked.get_nowait() for _ in range(self.asked.qsize())]


class Client:
    """A client's connection through the proxy."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def ask(self, n: int) -> None:
        self.writer.write(request(n))

    async def frame(self) -> bytes:
        size = int.from_bytes(await self.reader.readexactly(4))
        return await self.reader.readexactly(size)

    async def answer(self) -> int:
        return int.from_bytes((await self.frame())[:4])

    async def round_trip(self, n: int) -> bool:
        """Return whether the response arrives exactly as the broker writes it."""
        self.ask(n)
        return await self.frame() == response(n)[4:]

    async def exchange(self, n: int, message: Any) -> Any:
        """Return the response to any message, decoded in the request's version."""
        self.writer.write(encode_request(message, n, "p1"))
        correlation_id, answer = decode_response(await self.frame(), message.__api_key__, message.__version__)
        assert correlation_id == n
        return answer

    async def taken(self) -> None:
        """Return once the proxy has read all sent bytes, and its socket buffer is empty."""
        ends = [self.writer.get_extra_info(name)[1] for name in ("peername", "sockname")]
        while _unread(*(f"0100007F:{port:04X}" for port in ends)):  # noqa: ASYNC110
            await asyncio.sleep(0)  # no event signals that another process has read


def _unread(local: str, remote: str) -> bool:
    rows = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines())
    (queues,) = (row[4] for row in rows if row[1:3] == [local, remote])
    return not queues.endswith(":00000000")


@dataclass
class Bystander:
    """A client that a fault must not affect: one connection from before it, and a new one at each check."""

    path: LanePath
    client: Client
    last: int = 900

    async def is_served(self) -> bool:
        """Return whether both connections get the exact responses."""
        new = await self.path.connect()
        self.last += 2
        return await self.client.round_trip(self.last) and await new.round_trip(self.last + 1)


@dataclass
class LaneFault:
    """A fault of a registered kind on one lane. Its hits count from its start, or from its creation."""

    kind: FaultKind
    spec: FaultSpec
    lane: LiveLane
    bystanders: Sequence[Bystander] = ()
    began_ns: int = field(default_factory=time.monotonic_ns)
    is_over: bool = False

    async def prepare(self) -> None:
        await self.kind.prepare(self.spec, self.lane)

    async def start(self) -> None:
        self.began_ns = time.monotonic_ns()
        await self.kind.inject_live(self.spec, self.lane)

    async def stop(self) -> None:
        """End the fault. The bystanders are served until then."""
        await self.serves_bystanders()
        await self.kind.heal_live(self.spec, self.lane)
        self.is_over = True

    async def serves_bystanders(self) -> None:
        for bystander in self.bystanders:
            assert await bystander.is_served()

    def hits(self, path: LanePath) -> int:
        window = (self.began_ns, time.monotonic_ns())
        return self.kind.hits(FaultRow(0, self.spec, window, window), path.rows)


def fault_on(
    lane: LiveLane, kind: str, frames: FrameMatch | None = None, start_ms: int = 0, **params: int
) -> LaneFault:
    spec = FaultSpec(kind, AtTime(start_ms), 1_000, params or PARAMS.get(kind, {}), frames=frames)
    return LaneFault(registry.fault(kind), spec, lane)


@dataclass
class LanePath:
    """One lane with one broker."""

    proxy: Proxy
    witness: WitnessLane
    upstream: Upstream
    rows: list[Frame] = field(default_factory=list)
    clients: list[Client] = field(default_factory=list)
    #: Clients on other lanes, and perhaps on this one, that a fault on this one must not affect.
    bystanders: list[Bystander] = field(default_factory=list)

    @property
    def lane(self) -> LiveLane:
        """Return the lane for network faults. It has no cluster."""
        return LiveLane((self.proxy,), self.witness, cast("Cluster", None), "t")

    def fault(self, kind: str, frames: FrameMatch | None = None, **given: int) -> LaneFault:
        """Return a fault on this lane alone. ``given`` are its parameters, and ``start_ms``."""
        return fault_on(self.lane, kind, frames, **given)

    @asynccontextmanager
    async def under(
        self,
        kind: str,
        frames: FrameMatch | None = None,
        *,
        hits: int,
        elsewhere: int | None = 0,
        **given: int,
    ) -> AsyncIterator[LaneFault]:
        """Run a control, in which a test starts the fault, stops it, and asserts what both ends observe.

        Afterwards the bystanders must be served, the fault must have its expected hits here and on the bystanders'
        lanes,
        and this lane must work. ``elsewhere`` is None for a kind that counts any traffic, on any lane.
        """
        assert self.bystanders, "without a bystander an effect on others would not be noticed"
        fault = replace(self.fault(kind, frames, **given), bystanders=self.bystanders)
        await fault.prepare()
        yield fault
        assert fault.is_over
        assert fault.hits(self) == hits
        for path in (bystander.path for bystander in self.bystanders if bystander.path is not self):
            assert elsewhere is None or fault.hits(path) == elsewhere
        await fault.serves_bystanders()
        assert await self.canary()

    @property
    def requested(self) -> list[int]:
        """Return the correlation ids of the requests that passed the witness."""
        return [row.correlation_id for row in self.rows if row.kind is FrameKind.REQUEST]

    async def connect(self) -> Client:
        client = Client(*await asyncio.open_connection(*self.proxy.address.advertised))
        self.clients.append(client)
        return client

    async def served(self, n: int = 1) -> Client:
        """Return a connection to this broker that has had a response."""
        client = await self.connect()
        assert await client.round_trip(n)
        return client

    async def bystander(self) -> Bystander:
        """Return a bystander, whose first request is not in the broker's ``asked``."""
        client = await self.served(900)
        assert await self.upstream.asked.get() == 900
        return Bystander(self, client)

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

    async def served_before(self, work: Awaitable[T]) -> asyncio.Future[T]:
        """Return ``work`` as a task that is still pending after a new connection is served by the same server."""
        task = asyncio.ensure_future(work)
        assert await (await self.connect()).round_trip(1)
        assert not task.done()
        return task

    response_bytes = len(response(1))
    request_of = staticmethod(request)
    response_of = staticmethod(response)
    #: A response without a request.
    unasked = b"\0\0\0\x04\0\0\0\x09"

    async def passed_upstream(self, count: int) -> None:
        """Return once the witness has forwarded this many bytes of a request."""
        relays = self.witness.relays
        while all(relay.partial_request_bytes < count for relay in relays):  # noqa: ASYNC110
            await asyncio.sleep(0)  # no event signals a chunk that ends inside a frame

    async def canary(self) -> bool:
        """Return whether the lane is clean: proxy and witness have no rules left, and a new connection works."""
        await Lane(0, (self.proxy,), self.witness).assert_pristine()
        return await (await self.connect()).round_trip(99)


@dataclass
class Stage:
    server: ProxyServer
    paths: Sequence[LanePath]

    def fault(self, kind: str, **given: int) -> LaneFault:
        """Return a fault on one lane that has the proxies of all paths."""
        first = self.paths[0].lane
        return fault_on(replace(first, proxies=tuple(path.proxy for path in self.paths)), kind, **given)


Staging = Callable[..., Any]


@pytest.fixture
def staged(tmp_path: Path) -> Staging:
    """Return ``staged(lanes)``, an async context manager of a stage."""

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


@pytest.fixture
def on_stage(staged: Staging) -> Callable[..., None]:
    """Return ``on_stage(scenario, lanes=1)``, which runs a coroutine function of the stage in its own loop.

    The first lane has a bystander on every other lane. With ``beside=True`` it also has one of its own, which
    connects first.
    """

    def play(
        scenario: Callable[[Stage], Coroutine[Any, Any, None]], lanes: int = 2, beside: bool = False
    ) -> None:
        async def main() -> None:
            async with staged(lanes) as stage:
                victim, *others = stage.paths
                bystanders = [await path.bystander() for path in ([victim] if beside else []) + others]
                victim.bystanders.extend(bystanders)
                await scenario(stage)

        asyncio.run(main())

    return play
