"""Faults that end connections, visibly for both sides or for one, on one lane, without lasting effects."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from harness.model.rows import FrameKind


@pytest.mark.control(
    "disconnect",
    client="every open connection ends with FIN; new connections are refused",
    broker="every connection ends with FIN",
    untouched="neighbour lane: an open connection and new ones, during the fault and afterwards",
)
def test_disconnect_ends_live_connections_and_refuses_until_it_ends(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, _ = stage.paths
        async with victim.under("disconnect", hits=3) as fault:
            clients = [await victim.served() for _ in range(3)]
            await fault.start()
            assert [await client.reader.read() for client in clients] == [b"", b"", b""]
            assert [await victim.upstream.ends.get() for _ in clients] == ["fin", "fin", "fin"]
            with pytest.raises(ConnectionRefusedError):
                await victim.connect()
            await fault.stop()

    on_stage(scenario)


@pytest.mark.control(
    "reset",
    client="every open connection ends with RST; new connections are refused",
    broker="every connection ends with RST",
    untouched="neighbour lane: an open connection and new ones, during the fault and afterwards",
)
def test_reset_resets_live_connections_on_both_sides(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, _ = stage.paths
        async with victim.under("reset", hits=3) as fault:
            clients = [await victim.served() for _ in range(3)]
            await fault.start()
            for client in clients:
                with pytest.raises(ConnectionResetError):
                    await client.reader.read()
            assert [await victim.upstream.ends.get() for _ in clients] == ["rst", "rst", "rst"]
            with pytest.raises(ConnectionRefusedError):
                await victim.connect()
            await fault.stop()
        late = await victim.served(3)
        late.writer.close()
        assert await victim.upstream.ends.get() == "fin"

    on_stage(scenario)


def test_stop_undoes_a_prepared_reset(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        (victim,) = stage.paths
        fault = victim.fault("reset")
        await fault.prepare()
        live = await victim.connect()
        assert await live.round_trip(1)
        await fault.stop()
        assert await live.round_trip(2)
        assert await victim.canary()

    on_stage(scenario, lanes=1)


@pytest.mark.control(
    "idle_kill",
    client="idle connections end with FIN, including new ones",
    broker="the connections that were open end with FIN",
    untouched="neighbour lane: an open connection and new ones, during the fault and afterwards",
)
def test_idle_connections_are_closed(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, _ = stage.paths
        async with victim.under("idle_kill", idle_ms=20, hits=4) as fault:
            clients = [await victim.served() for _ in range(3)]
            await fault.start()
            assert [await client.reader.read() for client in clients] == [b""] * 3
            assert [await victim.upstream.ends.get() for _ in clients] == ["fin"] * 3
            assert await (await victim.connect()).reader.read() == b""
            await fault.stop()
            await victim.seen(FrameKind.CLOSE, 4)

    on_stage(scenario)


@pytest.mark.control(
    "accept_then_close",
    client="open connections end with FIN; new ones are accepted, and end without a response",
    broker="the connections that were open end with FIN; no later request arrives",
    untouched="neighbour lane: an open connection and new ones, during the fault and afterwards",
)
def test_accept_then_close_closes_new_connections(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, _ = stage.paths
        async with victim.under("accept_then_close", hits=4) as fault:
            client = await victim.served()
            await fault.start()
            assert await client.reader.read() == b""
            assert await victim.upstream.ends.get() == "fin"
            for n in (2, 3, 4):
                new = await victim.connect()
                new.ask(n)
                assert await new.reader.read() == b""
            assert victim.upstream.arrived() == [1]
            await victim.seen(FrameKind.CLOSE, 4)
            await fault.stop()

    on_stage(scenario)


@pytest.mark.control(
    "half_open",
    client="open connections are silent until the fault ends, and then end",
    broker="every connection ends with FIN at once; what is sent on it later never arrives",
    untouched=(
        "neighbour lane: an open connection and new ones, during the fault and afterwards; "
        "same lane: a connection that is opened later"
    ),
)
def test_half_open_hides_the_end_from_the_client(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        async with victim.under("half_open", hits=2) as fault:
            clients = [await victim.served() for _ in range(2)]
            await fault.start()
            assert [await victim.upstream.ends.get() for _ in clients] == ["fin", "fin"]
            clients[0].ask(2)
            reading = [await neighbour.served_before(client.reader.read()) for client in clients]
            new = await victim.served(3)
            assert not any(task.done() for task in reading)
            assert fault.hits(victim) == 2
            await fault.stop()
            assert await reading[1] == b""
            assert await asyncio.gather(reading[0], return_exceptions=True)
            assert await new.round_trip(4)
            assert victim.upstream.arrived() == [1, 1, 3, 4]

    on_stage(scenario)


@pytest.mark.control(
    "half_open",
    client="the open connection ends with FIN at once",
    broker="the connection stays, even if the broker writes to it, and ends with FIN when the fault ends",
    untouched=(
        "neighbour lane: an open connection and new ones, during the fault and afterwards; "
        "same lane: a connection that is opened later"
    ),
)
def test_half_open_hides_the_end_from_the_broker(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, _ = stage.paths
        async with victim.under("half_open", unaware_broker=1, hits=1) as fault:
            client = await victim.served()
            await fault.start()
            assert await client.reader.read() == b""
            new = await victim.served(2)
            victim.upstream.writers[0].write(victim.unasked)
            await victim.seen(FrameKind.RESPONSE, 3)
            assert victim.upstream.ends.empty()
            assert not [row for row in victim.rows if row.kind is FrameKind.CLOSE]
            await fault.stop()
            assert await victim.upstream.ends.get() == "fin"
            await victim.seen(FrameKind.CLOSE)
            assert await new.round_trip(3)

    on_stage(scenario)
