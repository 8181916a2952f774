"""The relay on real sockets: a client, the witness of one lane, and a server behind it."""

from __future__ import annotations

import asyncio
import errno
import socket
import struct
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.model.addresses import LaneAddress
from harness.model.errors import EnvironmentProblem
from harness.model.rows import Frame, FrameKind
from harness.system.port_allocator import port_block
from harness.witness import WitnessLane
from harness.witness.relay import HIGH_WATER_BYTES, Relay
from harness.witness.rules import FrameRules
from harness.witness.transcript import Transcript
from testkit.codes import raises_code

PLACES = st.lists(st.integers(0, 2**16), max_size=20)
RST = struct.pack("ii", 1, 0)
CHUNK_BYTES = 256 * 2**10  # the size of one read by asyncio


Play = Callable[[Callable[[Any], Coroutine[Any, Any, None]]], None]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(up=st.binary(max_size=4000), down=st.binary(max_size=4000), places=PLACES)
def test_bytes_arrive_unchanged_both_ways(
    up: bytes, down: bytes, places: list[int], chunked: Callable[[bytes, list[int]], list[bytes]], play: Play
) -> None:
    async def scenario(ends: Any) -> None:
        for chunk in chunked(up, places):
            ends.client_out.write(chunk)
            await ends.client_out.drain()
        for chunk in chunked(down, places):
            ends.broker_out.write(chunk)
            await ends.broker_out.drain()
        ends.client_out.write_eof()
        ends.broker_out.write_eof()
        assert await ends.broker_in.read() == up
        assert await ends.client_in.read() == down
        assert ends.lane.failure is None

    play(scenario)


def test_a_large_stream_of_garbage_arrives_unchanged(play: Play) -> None:
    data = bytes(range(251)) * 40_000

    async def scenario(ends: Any) -> None:
        reading = asyncio.create_task(ends.broker_in.read())
        ends.client_out.write(data)
        await ends.client_out.drain()
        ends.client_out.write_eof()
        assert await reading == data
        assert (await ends.rows_until(FrameKind.OPAQUE))[1].note is not None

    play(scenario)


def test_frames_are_recorded_with_their_connection(make: Any, play: Play) -> None:
    async def scenario(ends: Any) -> None:
        ends.client_out.write(make.produce(4))
        assert await ends.broker_in.readexactly(len(make.produce(4))) == make.produce(4)
        ends.broker_out.write(make.produced(4))
        assert await ends.client_in.readexactly(len(make.produced(4))) == make.produced(4)
        ends.client_out.close()
        rows = await ends.rows_until(FrameKind.CLOSE)
        assert [(row.kind, row.lane, row.broker, row.conn) for row in rows] == [
            (kind, 0, 1, 1) for kind in ("open", "request", "response", "close")
        ]
        assert [row.t_ns for row in rows] == sorted(row.t_ns for row in rows)

    play(scenario)


def test_data_sent_before_the_broker_is_connected_is_kept(play: Play) -> None:
    async def scenario(ends: Any) -> None:
        # The kernel completes this connection, its data and its end before the witness accepts it.
        with socket.create_connection(ends.client_out.get_extra_info("peername")) as early:
            early.sendall(b"early words")
            early.shutdown(socket.SHUT_WR)
            reader, _ = await ends.accepted.get()
            assert await reader.read() == b"early words"
        assert ends.lane.failure is None

    play(scenario)


def test_the_end_of_one_direction_leaves_the_other_open(play: Play) -> None:
    async def scenario(ends: Any) -> None:
        ends.client_out.write(b"last words")
        ends.client_out.write_eof()
        assert await ends.broker_in.read() == b"last words"
        ends.broker_out.write(b"an answer")
        assert await ends.client_in.readexactly(9) == b"an answer"
        ends.broker_out.write_eof()
        assert await ends.client_in.read() == b""

    play(scenario)


@pytest.mark.parametrize("who", ["client", "broker"])
def test_a_reset_is_passed_on_as_a_reset(who: str, play: Play) -> None:
    async def scenario(ends: Any) -> None:
        dying = ends.client_out if who == "client" else ends.broker_out
        left = ends.broker_in if who == "client" else ends.client_in
        dying.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RST)
        dying.transport.abort()
        with pytest.raises(ConnectionResetError):
            await left.read()
        rows = await ends.rows_until(FrameKind.CLOSE)
        assert (rows[-1].closed_by, rows[-1].note) == (who, "reset")

    play(scenario)


@pytest.mark.parametrize("who", ["client", "broker"])
def test_a_close_is_passed_on_as_a_close(who: str, play: Play) -> None:
    async def scenario(ends: Any) -> None:
        leaving = ends.client_out if who == "client" else ends.broker_out
        left = ends.broker_in if who == "client" else ends.client_in
        leaving.close()
        assert await left.read() == b""
        rows = await ends.rows_until(FrameKind.CLOSE)
        assert (rows[-1].closed_by, rows[-1].note) == (who, None)

    play(scenario)


def held(relay: Relay) -> bool:
    """Return whether the broker's side is full and the client's side is therefore not read."""
    if not relay.broker.is_open or relay.client.transport.is_reading():
        return False
    return relay.broker.transport.get_write_buffer_size() > HIGH_WATER_BYTES


def test_a_slow_reader_blocks_the_sender_and_limits_memory(accepting: Any) -> None:
    data = bytes(64 * 2**20)
    relays: list[Relay] = []

    async def main() -> None:
        async with asyncio.timeout(60), accepting() as (port, accepted):

            def relayed() -> asyncio.Protocol:
                ignore: Callable[[Any], None] = lambda _: None  # noqa: E731
                transcript = Transcript(0, 1, 1, {})
                relays.append(Relay(("127.0.0.1", port), transcript, ignore, ignore, ignore, FrameRules()))
                return relays[0].client

            server = await asyncio.get_running_loop().create_server(relayed, "127.0.0.1", 0)
            address = server.sockets[0].getsockname()
            _, client_out = await asyncio.open_connection(*address)
            broker_in, broker_out = await accepted.get()
            broker_out.transport.pause_reading()
            client_out.write(data)
            while True:  # transports have no event for this
                if held(relays[0]):
                    break
                await asyncio.sleep(0)
            assert relays[0].broker.transport.get_write_buffer_size() <= HIGH_WATER_BYTES + CHUNK_BYTES
            assert client_out.transport.get_write_buffer_size() > 0
            client_out.write_eof()
            broker_out.transport.resume_reading()
            received = 0
            while chunk := await broker_in.read(2**20):
                received += len(chunk)
            assert received == len(data)
            relays[0].abort()
            await relays[0].done.wait()
            client_out.transport.abort()
            server.close()
            await server.wait_closed()

    asyncio.run(main())


def test_an_unreachable_broker_resets_the_client() -> None:
    async def main() -> None:
        lane = WitnessLane(0)
        rows: list[Frame] = []
        closed = asyncio.Event()
        lane.record(rows.append)
        lane.watch(lambda row: closed.set() if row.kind == FrameKind.CLOSE else None)
        with port_block(3) as ports:
            address = LaneAddress(0, 1, *(("127.0.0.1", port) for port in ports))
            await lane.open([address])
            reader, writer = await asyncio.open_connection(*address.witness)
            with pytest.raises(ConnectionResetError):
                await reader.read()
            await closed.wait()
            assert rows[-1].closed_by == "broker"
            assert str(rows[-1].note).startswith("the broker could not be reached: ")
            writer.transport.abort()
            await lane.close()
            assert lane.open_connections == 0

    asyncio.run(main())


def test_connections_are_numbered_and_closed_with_the_lane(play: Play) -> None:
    async def scenario(ends: Any) -> None:
        address = ends.client_out.get_extra_info("peername")
        opened = asyncio.Event()
        ends.lane.watch(lambda row: opened.set())
        reader, writer = await asyncio.open_connection(*address)
        await opened.wait()
        assert ends.lane.open_connections == 2
        assert [row.conn for row in ends.rows if row.kind == FrameKind.OPEN] == [1, 2]
        await ends.lane.close()
        assert ends.lane.open_connections == 0
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.transport.abort()

    play(scenario)


def test_a_connection_of_an_earlier_trial_is_not_recorded(make: Any, play: Play) -> None:
    async def scenario(ends: Any) -> None:
        later: list[Frame] = []
        watched: list[Frame] = []
        ends.lane.record(later.append)
        ends.lane.watch(watched.append)
        ends.client_out.write(make.versions(1))
        await ends.broker_in.readexactly(len(make.versions(1)))
        assert later == watched == []
        assert [row.kind for row in ends.rows] == ["open"]

    play(scenario)


def test_a_failing_sink_is_reported_and_does_not_disturb_the_stream(make: Any, play: Play) -> None:
    async def scenario(ends: Any) -> None:
        def full(row: Frame) -> None:
            raise OSError("no space")

        ends.lane.watch(full)
        for n in (1, 2):
            ends.client_out.write(make.versions(n))
            assert await ends.broker_in.readexactly(len(make.versions(n))) == make.versions(n)
        assert ends.lane.failure is not None
        assert "no space" in ends.lane.failure
        ends.lane.unwatch(full)
        ends.lane.record(None)
        assert ends.lane.failure is not None
        ends.lane.record(ends.rows.append)
        assert ends.lane.failure is None

    play(scenario)


def test_a_port_in_use_is_an_environment_problem() -> None:
    async def main() -> None:
        with port_block(3) as ports, socket.create_server(("127.0.0.1", ports[2])):
            free, taken = (
                LaneAddress(0, 1, ("127.0.0.1", ports[0]), ("127.0.0.1", port), ("127.0.0.1", 1))
                for port in ports[1:]
            )
            lane = WitnessLane(0)
            with raises_code(EnvironmentProblem, "port-taken", host="127.0.0.1", port=ports[2]):
                await lane.open([free, taken])
            socket.create_server(("127.0.0.1", ports[1])).close()

    asyncio.run(main())


def test_an_end_is_passed_on_to_a_closed_side_without_error() -> None:
    class Gone:
        def write_eof(self) -> None:
            raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")

    async def main() -> Relay:  # a relay needs a running event loop for its events
        ignore: Callable[[Any], None] = lambda _: None  # noqa: E731
        return Relay(("127.0.0.1", 1), Transcript(0, 1, 1, {}), ignore, ignore, ignore, FrameRules())

    relay = asyncio.run(main())
    relay.client.transport = Gone()  # type: ignore[assignment]
    relay.broker.pass_on_end()
    assert relay.broker.has_ended
