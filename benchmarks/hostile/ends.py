"""Both ends of a witness on real sockets: a client's connections, and a server that says what it is told to say."""

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
    """A lane, where its witness listens, and the connections that came out at its other end."""

    lane: WitnessLane
    address: Address
    accepted: asyncio.Queue[Stream]

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[tuple[Stream, Stream]]:
        """The client's and the broker's end of one connection, both of which end in a reset."""
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
    """A lane that leads to a server which queues its connections, and whose rows nobody keeps."""
    accepted: asyncio.Queue[Stream] = asyncio.Queue()
    server = await asyncio.start_server(lambda *stream: accepted.put_nowait(stream), HOST, 0)
    try:
        async with lane_before(server.sockets[0].getsockname()[:2]) as (lane, address):
            lane.record(lambda row: None)
            yield Ends(lane, address, accepted)
    finally:
        server.close()
