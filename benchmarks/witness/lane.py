"""A witness in front of one listener, without a proxy or a cluster, and a way to keep it open from synchronous code."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import TypeVar

from harness.model.addresses import Address, LaneAddress
from harness.system.port_allocator import port_block
from harness.witness import WitnessLane

T = TypeVar("T")

HOST = "127.0.0.1"


@asynccontextmanager
async def lane_before(listener: Address) -> AsyncIterator[tuple[WitnessLane, Address]]:
    """Yield the lane and the address of its witness."""
    lane = WitnessLane(0)
    with port_block(1) as ports:
        address = (HOST, ports[0])
        await lane.open([LaneAddress(0, 1, address, address, listener)])
        try:
            yield lane, address
        finally:
            await lane.close()


@contextmanager
def held(runner: asyncio.Runner, opened: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """Yield the value of ``opened`` to synchronous code. It lives in the runner's loop."""
    value = runner.run(opened.__aenter__())
    try:
        yield value
    finally:
        runner.run(opened.__aexit__(None, None, None))
