"""Faults of the address that clients connect to: it refuses or does not respond until they end.

Tests that wait a second for the kernel to retry a connection are not in the fast tier.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from harness.model.errors import EnvironmentProblem
from harness.model.rows import FrameKind
from testkit.codes import raises_code


@pytest.mark.control(
    "refuse",
    client="the open connection ends with FIN; every attempt to connect is refused",
    broker="the connection ends with FIN",
    untouched="neighbour lane: an open connection and new ones, during the fault and afterwards",
)
def test_refuse_refuses_until_it_ends(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, _ = stage.paths
        async with victim.under("refuse", hits=1) as fault:
            client = await victim.served()
            await fault.start()
            assert await client.reader.read() == b""
            assert await victim.upstream.ends.get() == "fin"
            for _ in range(3):
                with pytest.raises(ConnectionRefusedError):
                    await victim.connect()
            await victim.seen(FrameKind.CLOSE)
            await fault.stop()

    on_stage(scenario)


def test_short_disconnect_does_not_end_a_longer_refusal(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        (victim,) = stage.paths
        long, short = victim.fault("refuse"), victim.fault("disconnect")
        await long.start()
        await short.start()
        await short.stop()
        with pytest.raises(ConnectionRefusedError):
            await victim.connect()
        await long.stop()
        assert await victim.canary()

    on_stage(scenario, lanes=1)


@pytest.mark.control(
    "partition",
    client="loud: the open connection ends with FIN; new connections are refused",
    broker="the connection ends with FIN",
    untouched="neighbour lane: an open connection and new ones, during the fault and afterwards",
)
def test_loud_partition_refuses(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, _ = stage.paths
        async with victim.under("partition", loud=1, hits=1) as fault:
            client = await victim.served()
            await fault.start()
            assert await client.reader.read() == b""
            assert await victim.upstream.ends.get() == "fin"
            with pytest.raises(ConnectionRefusedError):
                await victim.connect()
            await fault.stop()

    on_stage(scenario)


@pytest.mark.long("real sockets, and faults that take their time")
@pytest.mark.control(
    "connect_timeout",
    client=(
        "the open connection ends with FIN; attempts to connect are neither accepted nor refused until "
        "the fault ends"
    ),
    broker="the connection ends with FIN; nothing more arrives during the fault",
    untouched="neighbour lane: an open connection and new ones, during the fault and afterwards",
)
def test_connect_timeout_delays_connections_until_it_ends(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        async with victim.under("connect_timeout", hits=1) as fault:
            client = await victim.served()
            await fault.start()
            assert await client.reader.read() == b""
            assert await victim.upstream.ends.get() == "fin"
            connecting = [await neighbour.served_before(victim.connect()) for _ in range(3)]
            assert victim.upstream.arrived() == [1]
            await fault.stop()
            for new in await asyncio.gather(*connecting):
                assert await new.round_trip(2)

    on_stage(scenario)


@pytest.mark.long("real sockets, and faults that take their time")
@pytest.mark.parametrize("refusal_first", [True, False])
def test_refusal_overrides_connect_timeout_and_both_end_separately(
    on_stage: Any, refusal_first: bool
) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        refusal, silence = victim.fault("refuse"), victim.fault("connect_timeout")
        for fault in (refusal, silence) if refusal_first else (silence, refusal):
            await fault.start()
        with pytest.raises(ConnectionRefusedError):
            await victim.connect()
        await refusal.stop()
        connecting = await neighbour.served_before(victim.connect())
        await silence.stop()
        assert await (await connecting).round_trip(1) and await victim.canary()

    on_stage(scenario)


def test_occupied_port_is_reported_and_restored(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        (victim,) = stage.paths
        fault = victim.fault("connect_timeout")
        await victim.proxy.disable()
        with (
            socket.create_server(victim.proxy.address.advertised),
            raises_code(EnvironmentProblem, "port-taken"),
        ):
            await fault.start()
        await fault.stop()
        assert await victim.canary()

    on_stage(scenario, lanes=1)
