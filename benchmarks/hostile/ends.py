"""Both ends of a witness on real sockets: a client's connections, and a server that the caller controls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from benchmarks.witness.lane import HOST, lane_before
from harness.model.addresses import Address
from harness.witness import WitnessLane

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True)
class Ends:
    """A lane, the address of its witness, and a queue of the connections that the witness made to the server."""

    lane: WitnessLane
    address: Address
    accepted: asyncio.Queue[Stream]

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[tuple[Stream, Stream]]:
        """Yield the client's and the broker's end of one connection. Both are reset at the end."""
        client = await asyncio.open_connection(*self.address)
        try:
            broker = await self.accepted.get()
            try:
                yield client, broker
            finally:
                broker[1].transport.abort()
        finally:
            client[1].transport.abort()


@asynccontextmanager
async def witnessed() -> AsyncIterator[Ends]:
    """Yield a lane in front of a server that queues its connections. The rows of the lane are discarded."""
    accepted: asyncio.Queue[Stream] = asyncio.Queue()
    server = await asyncio.start_server(lambda *stream: accepted.put_nowait(stream), HOST, 0)
    try:
        async with lane_before(server.sockets[0].getsockname()[:2]) as (lane, address):
            lane.record(lambda row: None)
            yield Ends(lane, address, accepted)
    finally:
        server.close()
