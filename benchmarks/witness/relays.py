"""The measured relay and its baseline in one process: a witness, and a relay that only passes bytes on."""

from __future__ import annotations

import asyncio
import time
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.witness.lane import HOST, lane_before
from benchmarks.witness.stages import stop_after
from harness.model.rows import Frame
from harness.model.spec import FrameMatch
from harness.witness import WitnessLane
from harness.witness.actions import DROP
from harness.witness.relay import HIGH_WATER_BYTES

#: The path through a witness with a rule that matches no frame.
ARMED = "witness, armed"
NEVER = FrameMatch("Produce", "response", error_code=87)


class Bare(asyncio.Protocol):
    """One side of a relay that only passes bytes on."""

    def __init__(self, broker_port: int, other: Bare | None = None) -> None:
        self._broker_port = broker_port
        self.other: Any = other  # set before any byte arrives, because reading is paused until then

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.set_write_buffer_limits(high=HIGH_WATER_BYTES)
        if self.other is None:
            transport.pause_reading()
            loop = asyncio.get_running_loop()
            self._dial = loop.create_task(
                loop.create_connection(lambda: Bare(self._broker_port, self), HOST, self._broker_port)
            )
        else:
            self.other.other = self
            self.other.transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        self.other.transport.write(data)

    def pause_writing(self) -> None:
        self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        self.other.transport.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        if self.other is not None:
            self.other.transport.close()


def serve_relays(pipe: Connection, broker_port: int) -> None:
    """Run both relays until the pipe ends. For each path or stage received, send the CPU time in nanoseconds."""
    asyncio.run(_serve_relays(pipe, broker_port))


async def _serve_relays(pipe: Connection, broker_port: int) -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    rows: list[Frame] = []

    def told(lane: WitnessLane) -> None:
        try:
            kind = pipe.recv()
        except EOFError:
            ended.set()
            return
        lane.disarm("never")
        if kind == ARMED:
            lane.arm("never", NEVER, DROP)
        stop_after(kind)
        pipe.send(time.process_time_ns())

    async with lane_before((HOST, broker_port)) as (lane, address):
        server = await loop.create_server(lambda: Bare(broker_port), HOST, 0)
        lane.record(rows.append)
        loop.call_later(1, _empty, loop, rows)
        pipe.send((server.sockets[0].getsockname()[1], address[1]))
        loop.add_reader(pipe.fileno(), told, lane)
        await ended.wait()
        server.close()


def _empty(loop: asyncio.AbstractEventLoop, rows: list[Frame]) -> None:
    """Discard the rows regularly, so that a long run does not fill the memory."""
    rows.clear()
    loop.call_later(1, _empty, loop, rows)
