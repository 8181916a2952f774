"""More connections than are accepted at once: the witness can be closed and emptied while they wait."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from harness.model.addresses import LaneAddress
from harness.model.rows import Frame
from harness.system import dial
from harness.system.port_allocator import port_block
from harness.witness import WitnessLane

MANY = 200


@contextmanager
def waiting(address: LaneAddress, count: int = MANY) -> Iterator[list[socket.socket]]:
    """Yield connections that the kernel has accepted and the witness has not."""
    with ExitStack() as stack:
        yield [stack.enter_context(socket.create_connection(address.witness)) for _ in range(count)]


@contextmanager
def a_path() -> Iterator[LaneAddress]:
    """Yield the address of a witness in front of a broker that accepts."""
    with port_block(3) as ports, socket.create_server(("127.0.0.1", ports[2]), backlog=4 * MANY):
        yield LaneAddress(0, 1, *(("127.0.0.1", port) for port in ports))


@pytest.mark.parametrize("turns", range(6))
def test_a_lane_can_be_closed_while_connections_wait(turns: int) -> None:
    """Each number of loop turns is another moment between the kernel's acceptance and the relay."""

    async def steps(address: LaneAddress) -> None:
        lane = WitnessLane(0)
        await lane.open([address])
        with waiting(address):
            for _ in range(turns):
                await asyncio.sleep(0)
            async with asyncio.timeout(60):
                await lane.close()

    with a_path() as address:
        asyncio.run(steps(address))


def test_a_connection_without_a_transport_is_closed_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_transport(*_: object) -> None:
        raise OSError(errno.ENOMEM, "no-transport")

    async def steps(address: LaneAddress) -> None:
        lane = WitnessLane(0)
        await lane.open([address])
        with waiting(address, 1) as [connection]:
            # The kernel cannot be made to run out of memory for one connection only.
            monkeypatch.setattr(asyncio.get_running_loop(), "connect_accepted_socket", no_transport)
            await lane.empty()
            assert connection.recv(1) == b""
        assert lane.open_connections == 0 and "no-transport" in str(lane.failure)
        await lane.close()

    with a_path() as address:
        asyncio.run(asyncio.wait_for(steps(address), 60))


def test_connections_from_before_a_recording_are_not_in_it() -> None:
    async def end_at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async def steps(ports: list[int]) -> None:
        address = LaneAddress(0, 1, *(("127.0.0.1", port) for port in ports))
        lane, rows = WitnessLane(0), list[Frame]()
        broker = await asyncio.start_server(end_at_once, *address.listener)
        await lane.open([address])
        with waiting(address):
            pass
        await lane.empty()
        lane.record(rows.append)
        with waiting(address, 1):
            await asyncio.sleep(0)
        await lane.empty()
        assert {row.conn for row in rows} == {1}
        assert lane.open_connections == 0
        await lane.close()
        broker.close()

    with port_block(3) as ports:
        asyncio.run(asyncio.wait_for(steps(ports), 60))


class Full(socket.socket):
    """A socket of a machine on which all ports of our first address are in use."""

    full = dial.LOOPBACK[:1]

    def bind(self, address) -> None:
        if address[1] == 0 and address[0] in self.full:
            raise OSError(errno.EADDRINUSE, "Address already in use")
        super().bind(address)


class AllFull(Full):
    full = dial.LOOPBACK


async def dialled(ports: list[int]) -> tuple[str, str | None]:
    """Return the address from which a witness dialled the broker, and the failure of the witness."""
    address, peers = LaneAddress(0, 1, *(("127.0.0.1", port) for port in ports)), asyncio.Queue[str]()
    broker = await asyncio.start_server(
        lambda _, writer: peers.put_nowait(writer.get_extra_info("peername")[0]), *address.listener
    )
    lane = WitnessLane(0)
    await lane.open([address])
    lane.record(lambda _: None)
    reader, writer = await asyncio.open_connection(*address.witness)
    ended, came = asyncio.ensure_future(reader.read()), asyncio.ensure_future(peers.get())
    await asyncio.wait((ended, came), return_when=asyncio.FIRST_COMPLETED)
    seen = came.result() if came.done() else "nowhere", lane.failure
    writer.close()
    await lane.close()
    await asyncio.gather(ended, return_exceptions=True)
    came.cancel()
    broker.close()
    return seen


def test_another_address_is_used_when_all_ports_of_one_are_in_use(monkeypatch) -> None:
    # The ports of an address cannot be used up without disturbing other processes.
    monkeypatch.setattr(socket, "socket", Full)
    with port_block(3) as ports:
        assert asyncio.run(asyncio.wait_for(dialled(ports), 60)) == ("127.0.0.2", None)


def test_running_out_of_ports_is_a_failure_of_the_witness(monkeypatch) -> None:
    # The ports of an address cannot be used up without disturbing other processes.
    monkeypatch.setattr(socket, "socket", AllFull)
    with port_block(3) as ports:
        peer, failure = asyncio.run(asyncio.wait_for(dialled(ports), 60))
    assert peer == "nowhere" and "OSError" in str(failure) and str(errno.EADDRINUSE) in str(failure)
