"""Faults that leave one side waiting: frames are dropped, or a request arrives after its client disconnected."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from harness.model.rows import FrameKind

pytestmark = pytest.mark.long("real sockets, and faults that take their time")


@pytest.mark.control(
    "dropped_response",
    client="no response arrives; the connections end with FIN when the fault ends",
    broker="every request arrives; the connections end with FIN when the fault ends",
    untouched="neighbour lane: an open connection and new ones, during the fault and afterwards",
)
def test_dropped_responses_never_arrive_and_the_connection_ends(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        async with victim.under("dropped_response", hits=2, elsewhere=None) as fault:
            old = await victim.served()
            assert await victim.upstream.asked.get() == 1
            await fault.start()
            new = await victim.connect()
            old.ask(2)
            new.ask(3)
            assert {await victim.upstream.asked.get() for _ in range(2)} == {2, 3}
            await victim.seen(FrameKind.RESPONSE, 3)
            reading = [await neighbour.served_before(client.reader.read()) for client in (old, new)]
            assert victim.upstream.ends.empty()
            await fault.stop()
            assert [await end for end in reading] == [b"", b""]
            assert [await victim.upstream.ends.get() for _ in range(2)] == ["fin", "fin"]

    on_stage(scenario)


def test_connections_with_dropped_bytes_end_despite_other_faults(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        (victim,) = stage.paths
        fault = victim.fault("dropped_response")
        client = await victim.connect()
        assert await client.round_trip(1)
        await fault.start()
        await victim.proxy.add_toxic("slow", "slow_close", "downstream", 1.0, delay=600_000)
        await fault.stop()
        assert await client.reader.read() == b""
        await victim.proxy.remove_toxic("slow")
        assert await victim.canary()

    on_stage(scenario, lanes=1)


@pytest.mark.parametrize("latency_first", [True, False])
@pytest.mark.parametrize("latency_ends_first", [True, False])
def test_latency_and_dropped_responses_overlap(
    latency_first: bool, latency_ends_first: bool, on_stage: Any
) -> None:
    async def scenario(stage: Any) -> None:
        (victim,) = stage.paths
        both = [victim.fault("latency"), victim.fault("dropped_response")]
        client = await victim.connect()
        for fault in both if latency_first else reversed(both):
            await fault.start()
        client.ask(1)
        await victim.seen(FrameKind.RESPONSE)
        for fault in both if latency_ends_first else reversed(both):
            await fault.stop()
        assert await client.reader.read() == b""
        assert await victim.canary()

    on_stage(scenario, lanes=1)


@pytest.mark.control(
    "dropped_request",
    client="no response arrives; the connections end with FIN when the fault ends",
    broker="no request arrives; the connections end with FIN when the fault ends",
    untouched="neighbour lane: an open connection and new ones, during the fault and afterwards",
)
def test_dropped_requests_never_arrive_and_the_connection_ends(on_stage: Any) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        async with victim.under("dropped_request", hits=2) as fault:
            old = await victim.served()
            await fault.start()
            new = await victim.connect()
            old.ask(2)
            new.ask(3)
            for client in (old, new):
                await client.taken()
            reading = [await neighbour.served_before(client.reader.read()) for client in (old, new)]
            assert victim.upstream.ends.empty()
            await fault.stop()
            assert [await end for end in reading] == [b"", b""]
            assert [await victim.upstream.ends.get() for _ in range(2)] == ["fin", "fin"]
            assert victim.upstream.arrived() == [1]

    on_stage(scenario)


@pytest.mark.parametrize("ways", [(1, 1), (1, 0), (0, 1)])
@pytest.mark.control(
    "partition",
    client=(
        "silent: the connection stays and nothing arrives (with upstream alone: only unrequested "
        "responses); it ends with FIN when the fault ends"
    ),
    broker=(
        "the request does not arrive (with downstream alone: it does); the connection ends with FIN when "
        "the fault ends"
    ),
    untouched="neighbour lane: an open connection and new ones, during the fault and afterwards",
)
def test_silent_partition_drops_both_directions_or_one(on_stage: Any, ways: tuple[int, int]) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        upstream, downstream = ways
        params = {"upstream": upstream, "downstream": downstream}
        async with victim.under("partition", hits=1, elsewhere=0 if upstream else None, **params) as fault:
            client = await victim.served()
            await fault.start()
            client.ask(2)
            await client.taken()
            reading = await neighbour.served_before(client.reader.read())
            if upstream:
                victim.upstream.writers[0].write(victim.unasked)
            await victim.seen(FrameKind.RESPONSE, 2)
            assert victim.upstream.ends.empty()
            await fault.stop()
            assert await reading == (b"" if downstream else victim.unasked)
            assert await victim.upstream.ends.get() == "fin"
            assert victim.upstream.arrived() == ([1] if upstream else [1, 2])

    on_stage(scenario)


@pytest.mark.parametrize("leaves_by", ["fin", "rst"])
@pytest.mark.control(
    "delayed_past_disconnect",
    client="one disconnects; the other gets no response until the fault ends",
    broker="nothing arrives until the fault ends, then the requests of both, also of the disconnected one",
    untouched="neighbour lane: an open connection and new ones, during the fault and afterwards",
)
def test_ghost_requests_arrive_after_the_client_disconnected(on_stage: Any, leaves_by: str) -> None:
    async def scenario(stage: Any) -> None:
        victim, neighbour = stage.paths
        async with victim.under("delayed_past_disconnect", hits=1) as fault:
            leaver, stayer = await victim.served(0), await victim.served(0)
            assert victim.upstream.arrived() == [0, 0]
            await fault.start()
            leaver.ask(1)
            stayer.ask(2)
            if leaves_by == "fin":
                leaver.writer.close()
            else:
                await leaver.taken()
                leaver.writer.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0" + bytes(4)
                )
                leaver.writer.transport.abort()
            arrived = await neighbour.served_before(victim.upstream.asked.get())
            answer = await neighbour.served_before(stayer.answer())
            assert victim.upstream.ends.empty()
            await fault.stop()
            assert await answer == 2
            ended_by = await victim.upstream.ends.get()
            assert ended_by in ("fin", "rst")  # RST in answer to the response, because the client is gone
            assert {await arrived, *victim.upstream.arrived()} == {1, 2}
            assert await stayer.round_trip(3)

    on_stage(scenario)
