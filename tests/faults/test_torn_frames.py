"""Frames cut at a byte, in either direction: that connection ends, and no other is affected."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from harness.model.rows import FrameKind

pytestmark = pytest.mark.long("real sockets, and faults that take their time")


@pytest.mark.parametrize("at_byte", [0, 2, 4, 6, 15])
@pytest.mark.parametrize("reset", [0, 1])
@pytest.mark.control(
    "torn_frame",
    client="only the first bytes of the response arrive, then FIN or RST",
    broker="the whole request arrives; the connection ends with FIN or RST",
    untouched=(
        "neighbour lane: an open connection and new ones, during the fault and afterwards; "
        "same lane: a connection that is idle during the fault, afterwards"
    ),
)
def test_response_is_cut_at_a_byte(on_stage: Any, at_byte: int, reset: int) -> None:
    async def scenario(stage: Any) -> None:
        victim, _ = stage.paths
        assert at_byte < victim.response_bytes
        loop = asyncio.get_running_loop()
        async with victim.under("torn_frame", at_byte=at_byte, reset=reset, hits=1) as fault:
            with socket.socket() as torn:  # without a buffer in which RST could overtake the bytes
                torn.setblocking(False)
                await loop.sock_connect(torn, victim.proxy.address.advertised)
                spared = await victim.served()
                await fault.start()
                await loop.sock_sendall(torn, victim.request_of(7))
                got = b""
                try:
                    while data := await loop.sock_recv(torn, 100):
                        got += data
                    assert not reset
                except ConnectionResetError:
                    assert reset
            assert len(got) == at_byte
            await fault.stop()
            assert await victim.upstream.ends.get() == ("rst" if reset else "fin")
            assert victim.upstream.arrived() == [1, 7]
            assert await spared.round_trip(3)

    on_stage(scenario)


@pytest.mark.parametrize("at_byte", [0, 3, 9])
@pytest.mark.control(
    "torn_frame",
    client="upstream: the connection ends with FIN, without a response",
    broker="the connection ends inside the request or before it; the whole request never arrives",
    untouched=(
        "neighbour lane: an open connection and new ones, during the fault and afterwards; "
        "same lane: a connection that is idle during the fault, afterwards"
    ),
)
def test_request_is_cut_at_a_byte(on_stage: Any, at_byte: int) -> None:
    async def scenario(stage: Any) -> None:
        victim, _ = stage.paths
        async with victim.under("torn_frame", upstream=1, at_byte=at_byte, hits=1) as fault:
            torn, spared = await victim.served(), await victim.served()
            await fault.start()
            torn.ask(2)
            assert await torn.reader.read() == b""
            await victim.seen(FrameKind.OPAQUE if at_byte else FrameKind.CLOSE)
            pieces_bytes = [row.size_bytes for row in victim.rows if row.kind is FrameKind.OPAQUE]
            assert pieces_bytes == [at_byte] * (at_byte > 0)
            assert await victim.upstream.ends.get() == ("fin inside a request" if at_byte else "fin")
            assert victim.upstream.arrived() == [1, 1]
            await fault.stop()
            assert await spared.round_trip(3)

    on_stage(scenario)


def test_stop_undoes_a_prepared_torn_frame(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        (victim,) = stage.paths
        fault = victim.fault("torn_frame", reset=1)
        await fault.prepare()
        assert not await victim.proxy.pristine()
        await fault.stop()
        assert await victim.canary()

    on_stage(scenario, lanes=1)
