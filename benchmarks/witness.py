"""What the witness costs: latency and throughput beside a bare relay and beside Toxiproxy, and where its time goes.

``python -m benchmarks.witness [--rounds N] [--unpinned] [--json]``

Client, broker and relay are processes of their own; the client's sockets block, so that nothing but the path is
measured. The bare relay and the witness live in one process, for two processes of the same code differ by more than a
stage takes. A round takes every path in turn, so whatever else the machine does meets them all. A ratio is to the bare
relay of the same round, and the median of all rounds is said; p99 is of all round trips together.

What is on the path has a core of its own, client and broker share another. Left to the scheduler (``--unpinned``), the
relay at times shares a core with the broker, which then waits for the witness's reading: the figures are of two kinds.

Latency is a round trip of one Produce request and its answer, with one frame under way; throughput is Produce requests
of 64 KiB with small answers and eight under way. The stages of the witness are told from each other by leaving them
out, the last first: the relay's CPU time then is that of the rest (of each the least of all rounds).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any

from kio.schema.errors import ErrorCode

from faults.toxiproxy import TOXIPROXY
from harness.ports import LaneAddress
from harness.ports_block import port_block
from harness.rows import Frame
from harness.spec import FrameMatch
from harness.wire.apis import Api
from harness.wire.messages import encode_request, encode_response, make, message_class, nested
from harness.wire.records import BATCH_OVERHEAD_BYTES, BatchBuilder
from harness.witness import WitnessLane
from harness.witness.actions import DROP
from harness.witness.relay import HIGH_WATER_BYTES, Relay, Side
from harness.witness.splitter import FrameSplitter
from harness.witness.transcript import CLIENT

HOST = "127.0.0.1"
#: The whole request frame, by what it is called.
SIZES = {"100 B": 140, "1 KiB": 1 << 10}
BULK_BYTES = 64 << 10
TRIPS, BULK_FRAMES, UNDER_WAY = 100, 100, 8
VERSION = 9
CORRELATION_AT = 8
#: Relays that leave stages out, from the one that only passes on to the whole witness.
STAGES = ("passing on", "splitting", "decoding", "telling")
Figures = dict[tuple[str, str], list[float]]
Trips = dict[tuple[str, str], list[list[int]]]
PATHS = ("direct", "bare relay", "Toxiproxy", "witness", "witness, armed")


def produce(size_bytes: int) -> bytes:
    """A Produce request whose frame has about that size."""
    kind = message_class(Api.PRODUCE, VERSION, "request")
    topic = nested(kind, "TopicProduceData")
    builder = BatchBuilder()
    builder.append(1_700_000_000_000, None, bytes(max(1, size_bytes - BATCH_OVERHEAD_BYTES - 55)))
    part = make(nested(kind, "PartitionProduceData"), index=0, records=builder.build(7, 0, 0))
    message = make(
        kind,
        transactional_id=None,
        acks=-1,
        timeout=timedelta(seconds=3),
        topic_data=(make(topic, name="t", partition_data=(part,)),),
    )
    return encode_request(message, 0, "client")


def produced() -> bytes:
    """The answer."""
    kind = message_class(Api.PRODUCE, VERSION, "response")
    topic = nested(kind, "TopicProduceResponse")
    part = make(
        nested(kind, "PartitionProduceResponse"),
        index=0,
        error_code=ErrorCode.none,
        base_offset=1,
        record_errors=(),
    )
    topics = (make(topic, name="t", partition_responses=(part,)),)
    return encode_response(make(kind, responses=topics, throttle_time=timedelta(0)), 0)


# the broker


def serve_broker(pipe: Connection) -> None:
    """A broker that answers every frame with a Produce response of its correlation id, on blocking sockets."""
    server = socket.create_server((HOST, 0))
    threading.Thread(target=_accept, args=(server,), daemon=True).start()
    pipe.send(server.getsockname()[1])
    _until_told_to_end(pipe)


def _accept(server: socket.socket) -> None:
    while True:
        sock, _ = server.accept()
        threading.Thread(target=_answer, args=(sock,), daemon=True).start()


def _answer(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    head, rest = produced()[:4], produced()[8:]
    held = bytearray(BULK_BYTES * 2)
    with sock:
        while _read_exactly(sock, held, CORRELATION_AT + 4):
            (size,) = struct.unpack_from(">i", held)
            correlation_id = bytes(held[CORRELATION_AT : CORRELATION_AT + 4])
            if not _read_exactly(sock, held, size - CORRELATION_AT):
                return
            sock.sendall(head + correlation_id + rest)


def _read_exactly(sock: socket.socket, into: bytearray, count: int) -> bool:
    view = memoryview(into)[:count]
    while view:
        got = sock.recv_into(view)
        if not got:
            return False
        view = view[got:]
    return True


# the relays


class Bare(asyncio.Protocol):
    """One side of a relay that does nothing else."""

    def __init__(self, broker_port: int, other: Bare | None = None) -> None:
        self._broker_port, self.other = broker_port, other

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
    """A bare relay and a witness; told what the witness is to do, it tells its CPU time in nanoseconds."""
    asyncio.run(_serve_relays(pipe, broker_port))


async def _serve_relays(pipe: Connection, broker_port: int) -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    lane = WitnessLane(0)
    rows: list[Frame] = []

    def told() -> None:
        try:
            path = pipe.recv()
        except EOFError:
            ended.set()
            return
        lane.disarm("never")
        if path == "witness, armed":
            lane.arm("never", FrameMatch("Produce", "response", error_code=87), DROP)
        Relay.passed = PASSED.get(path, _all_of_it)  # type: ignore[method-assign]
        pipe.send(time.process_time_ns())

    with port_block(2) as ports:
        server = await loop.create_server(lambda: Bare(broker_port), HOST, 0)
        await lane.open([LaneAddress(0, 1, (HOST, ports[0]), (HOST, ports[1]), (HOST, broker_port))])
        lane.record(rows.append)
        loop.call_later(1, _empty, loop, rows)
        pipe.send((server.sockets[0].getsockname()[1], ports[1]))
        loop.add_reader(pipe.fileno(), told)
        await ended.wait()
        server.close()
        await lane.close()


def _empty(loop: asyncio.AbstractEventLoop, rows: list[Frame]) -> None:
    """Rows of a long run are not to fill the memory."""
    rows.clear()
    loop.call_later(1, _empty, loop, rows)


_splitters: dict[Side, FrameSplitter] = {}
_all_of_it = Relay.passed


def _only_split(relay: Relay, side: Side, t_ns: int, data: bytes) -> None:
    if side not in _splitters:
        _splitters[side] = FrameSplitter()
    splitter = _splitters[side]
    if splitter.only_frame(data) is None:
        for _ in splitter.feed(data):
            pass


def _only_decode(relay: Relay, side: Side, t_ns: int, data: bytes) -> None:
    transcript = relay._transcript
    for _ in (transcript.sent if side.name == CLIENT else transcript.answered)(t_ns, data):
        pass


#: What is done behind the passing on, where not all of it is.
PASSED: dict[str, Callable[[Relay, Side, int, bytes], None]] = {
    "passing on": lambda relay, side, t_ns, data: None,
    "splitting": _only_split,
    "decoding": _only_decode,
}


def _until_told_to_end(pipe: Connection) -> None:
    try:
        pipe.recv()
    except EOFError:
        pass


@contextmanager
def process(target: Callable[..., None], *args: Any) -> Iterator[tuple[Any, Connection]]:
    """What a process of ours says first, its ports, and the pipe to it; it ends when the pipe does."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=target, args=(theirs, *args), daemon=True)
    child.start()
    theirs.close()
    try:
        yield ours.recv(), ours
    finally:
        ours.close()
        child.join(5)
        child.kill()


@contextmanager
def toxiproxy(broker_port: int) -> Iterator[int]:
    """The port of a proxy without toxics."""
    with TemporaryDirectory() as folder, port_block(1) as ports, asyncio.Runner() as runner:
        running = TOXIPROXY.server(Path(folder))
        server = runner.run(running.__aenter__())
        try:
            address = LaneAddress(0, 1, (HOST, ports[0]), (HOST, broker_port), (HOST, broker_port))
            runner.run(server.create(address))
            yield ports[0]
        finally:
            runner.run(running.__aexit__(None, None, None))


# the client


class Client:
    """One connection of a client over one path."""

    def __init__(self, port: int) -> None:
        self._sock = socket.create_connection((HOST, port))
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answer = bytearray(len(produced()))
        self._number = 0

    def close(self) -> None:
        self._sock.close()

    def trips(self, frame: bytearray, count: int) -> list[int]:
        """Round trips one after the other, in nanoseconds each."""
        taken = []
        for _ in range(count):
            began_ns = time.perf_counter_ns()
            self._send(frame)
            self._read()
            taken.append(time.perf_counter_ns() - began_ns)
        return taken

    def bulk(self, frame: bytearray, count: int) -> float:
        """Bytes a second, with several frames under way."""
        began_ns = time.perf_counter_ns()
        for index in range(count):
            if index >= UNDER_WAY:
                self._read()
            self._send(frame)
        for _ in range(UNDER_WAY):
            self._read()
        return len(frame) * count * 1e9 / (time.perf_counter_ns() - began_ns)

    def _send(self, frame: bytearray) -> None:
        # Of every frame the number is another one, so that nobody remembers it.
        self._number += 1
        struct.pack_into(">i", frame, CORRELATION_AT, self._number)
        self._sock.sendall(frame)

    def _read(self) -> None:
        if not _read_exactly(self._sock, self._answer, len(self._answer)):
            raise ConnectionError("the path has ended")


# measuring


def measure(rounds: int, *, is_pinned: bool) -> dict[str, Any]:
    """Every path, round by round; and the CPU time of the stages."""
    cores = sorted(os.sched_getaffinity(0))
    ends, path = ({cores[0]}, {cores[-1]}) if is_pinned else (set(cores), set(cores))
    os.sched_setaffinity(0, ends)  # which children inherit
    frames = {name: bytearray(produce(size)) for name, size in SIZES.items()}
    bulk = bytearray(produce(BULK_BYTES))
    kinds = (*PATHS, *STAGES[:-1])
    trips: Trips = {(kind, name): [] for kind in kinds for name in frames}
    cpu_us: Figures = {(kind, name): [] for kind in kinds for name in frames}
    rates: dict[str, list[float]] = {path: [] for path in PATHS}
    with ExitStack() as stack:
        broker_port, _ = stack.enter_context(process(serve_broker))
        os.sched_setaffinity(0, path)
        (bare_port, witness_port), pipe = stack.enter_context(process(serve_relays, broker_port))
        ports = {"direct": broker_port, "bare relay": bare_port}
        ports["Toxiproxy"] = stack.enter_context(toxiproxy(broker_port))
        os.sched_setaffinity(0, ends)
        clients = {kind: Client(ports.get(kind, witness_port)) for kind in (*PATHS[:3], "witness")}
        for client in clients.values():
            stack.callback(client.close)
        for number in range(rounds + 1):  # the first warms up
            for kind in kinds:
                client = clients.get(kind, clients["witness"])
                for name, frame in frames.items():
                    before_ns = _told(pipe, kind)
                    taken = client.trips(frame, TRIPS)
                    after_ns = _told(pipe, kind)
                    if number:
                        trips[kind, name].append(taken)
                        cpu_us[kind, name].append((after_ns - before_ns) / TRIPS / 1e3)
                if kind in rates:
                    rate = client.bulk(bulk, BULK_FRAMES)
                    rates[kind] += [rate] if number else []
    return _summed_up(frames, trips, rates, cpu_us)


def _told(pipe: Connection, kind: str) -> int:
    """The relays' CPU time, once they do what that path asks for."""
    pipe.send(kind)
    return int(pipe.recv())


def _summed_up(
    frames: dict[str, bytearray],
    trips: Trips,
    rates: dict[str, list[float]],
    cpu_us: Figures,
) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for path in PATHS:
        row: dict[str, Any] = {
            "MB/s": round(median(rates[path]) / 1e6),
            "MB/s, ratio": _ratio(rates[path], rates["bare relay"]),
        }
        for name in frames:
            middles = [median(taken) for taken in trips[path, name]]
            bare = [median(taken) for taken in trips["bare relay", name]]
            row[f"{name}, p50, us"] = round(median(middles) / 1e3, 1)
            row[f"{name}, p50, ratio"] = _ratio(middles, bare)
            slow, slow_bare = (_p99(trips[each, name]) for each in (path, "bare relay"))
            row[f"{name}, p99, us"] = round(slow / 1e3, 1)
            row[f"{name}, p99, ratio"] = round(slow / slow_bare, 2)
        paths[path] = row
    return {
        "frame_bytes": {name: len(frame) for name, frame in frames.items()},
        "paths": paths,
        "stages_cpu_us_per_round_trip": {name: _stages(cpu_us, name) for name in frames},
        "bare_relay_cpu_us_per_round_trip": {
            name: round(min(cpu_us["bare relay", name]), 1) for name in frames
        },
    }


def _ratio(values: list[float], bare: list[float]) -> float:
    return round(median(one / other for one, other in zip(values, bare, strict=True)), 2)


def _stages(cpu_us: Figures, name: str) -> dict[str, float]:
    """What each stage adds to those before it."""
    added, before_us = {}, 0.0
    for stage, kind in zip(STAGES, (*STAGES[:-1], "witness"), strict=True):
        total_us = min(cpu_us[kind, name])
        added[stage] = round(total_us - before_us, 1)
        before_us = total_us
    return added


def _p99(rounds: list[list[int]]) -> float:
    return quantiles([taken for each in rounds for taken in each], n=100)[98]


def main(argv: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.witness", description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--unpinned", action="store_true")
    asked = parser.parse_args(argv)
    measured = measure(asked.rounds, is_pinned=not asked.unpinned)
    if asked.json:
        print(json.dumps(measured))  # noqa: T201
        return 0
    for path, row in measured.pop("paths").items():
        print(path)  # noqa: T201
        for name, value in row.items():
            print(f"{name:>24}  {value}")  # noqa: T201
    for name, value in measured.items():
        print(f"{name}  {value}")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
