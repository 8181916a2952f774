"""The paths from client to broker. Each is open while it is measured, and pinned to separate cores if requested."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.witness.ends import Client, serve_broker
from benchmarks.witness.lane import HOST, held
from benchmarks.witness.relays import ARMED, serve_relays
from faults.toxiproxy import TOXIPROXY
from harness.model.addresses import LaneAddress
from harness.system.port_allocator import port_block

PATHS = ("direct", "bare relay", "Toxiproxy", "witness", ARMED)


@dataclass(frozen=True)
class Paths:
    """A client on every path, and the pipe to the process with the relays."""

    clients: dict[str, Client]
    pipe: Connection

    def client(self, kind: str) -> Client:
        """Return the client of a path. Stages use the client of the witness."""
        return self.clients.get(kind, self.clients["witness"])

    def told(self, kind: str) -> int:
        """Switch the relays to a path or stage, and return their CPU time in nanoseconds."""
        self.pipe.send(kind)
        return int(self.pipe.recv())


@contextmanager
def opened(*, is_pinned: bool) -> Iterator[Paths]:
    """Open all paths. If pinned, the processes on a path have one core, and client and broker another."""
    cores = sorted(os.sched_getaffinity(0))
    ends, path = ({cores[0]}, {cores[-1]}) if is_pinned else (set(cores), set(cores))
    with ExitStack() as stack:
        os.sched_setaffinity(0, ends)  # inherited by child processes
        broker_port, _ = stack.enter_context(_process(serve_broker))
        os.sched_setaffinity(0, path)
        (bare_port, witness_port), pipe = stack.enter_context(_process(serve_relays, broker_port))
        toxiproxy_port = stack.enter_context(_toxiproxy(broker_port))
        os.sched_setaffinity(0, ends)
        ports = (broker_port, bare_port, toxiproxy_port, witness_port)
        clients = {path: Client(port) for path, port in zip(PATHS[: len(ports)], ports, strict=True)}
        for client in clients.values():
            stack.callback(client.close)
        yield Paths(clients, pipe)


@contextmanager
def _process(target: Callable[..., None], *args: Any) -> Iterator[tuple[Any, Connection]]:
    """Start a process that ends with its pipe. Yield its first message, which contains its ports, and the pipe."""
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
def _toxiproxy(broker_port: int) -> Iterator[int]:
    """Yield the port of a proxy without toxics."""
    with (
        TemporaryDirectory() as folder,
        port_block(1) as ports,
        asyncio.Runner() as runner,
        held(runner, TOXIPROXY.server(Path(folder))) as server,
    ):
        end = (HOST, broker_port)
        runner.run(server.create(LaneAddress(0, 1, (HOST, ports[0]), end, end)))
        yield ports[0]
