"""How many times one Toxiproxy lets faults begin and end before it wedges: its control API was once known for that.

``python -m benchmarks.soak [--cycles N] [--seed N] [--json]``

In each cycle, drawn from the seed, one or two faults overlap on a lane, of every kind that works on proxies. Clients
have requests and answers under way when they begin; others come meanwhile, and one leaves, politely or not. When the
faults are over the lane must be as new: the proxy enabled, nothing on it, and a new connection has an answer. A
neighbour lane keeps one connection through all cycles, which has an answer in each.

The peer always reads. One that does not, with a full pipe before it, wedges Toxiproxy 2.12 whatever is done with care.

Wedged is a cycle after which that is not so, or in which a control call was not answered. It is printed with the
reason, and the server replaced by a new one on the same ports. Exit code 1 if there is one, or if the neighbour lost
its connection.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import cast

from faults.broker_fault import WitnessFault
from faults.frame_fault import FrameFault
from faults.toxiproxy import Toxiproxy
from faults.toxiproxy_api import READ_TIMEOUT_S
from harness.model.addresses import LaneAddress
from harness.model.dice import Dice
from harness.model.errors import EnvironmentProblem
from harness.model.mode import Mode
from harness.model.spec import AtTime, FaultSpec
from harness.plugins import registry
from harness.plugins.cluster import Cluster
from harness.plugins.fault import FaultKind, LiveLane
from harness.plugins.proxy import Proxy, ProxyServer
from harness.system.port_allocator import port_block
from harness.witness import WitnessLane

Params = dict[str, int]

#: Kinds that work on proxies, in all their ways.
WAYS: tuple[tuple[str, Params], ...] = (
    ("latency", {"upstream_ms": 5, "downstream_ms": 5}),
    ("latency", {"downstream_ms": 600_000}),
    ("bandwidth", {"upstream_bytes_per_s": 1_000, "downstream_bytes_per_s": 1_000}),
    ("slicer", {"size_bytes": 7, "delay_us": 100}),
    ("disconnect", {}),
    ("reset", {}),
    ("refuse", {}),
    ("connect_timeout", {}),
    ("dropped_response", {}),
    ("dropped_request", {}),
    ("late_response", {}),
    ("delayed_past_disconnect", {}),
    ("half_open", {}),
    ("half_open", {"unaware_broker": 1}),
    ("torn_frame", {"at_byte": 6}),
    ("torn_frame", {"upstream": 1, "at_byte": 6}),
    ("torn_frame", {"at_byte": 2, "reset": 1}),
    ("partition", {}),
    ("partition", {"loud": 1}),
    ("partition", {"upstream": 0}),
    ("partition", {"downstream": 0}),
    ("idle_kill", {"idle_ms": 5}),
    ("accept_then_close", {}),
)


def works_on_proxies(kind: FaultKind) -> bool:
    """Return whether the kind has a lane's proxies to itself, and needs neither witness nor brokers."""
    of_the_witness = isinstance(kind, FrameFault | WitnessFault)
    return not kind.exclusive_cluster and Mode.LIVE in kind.modes and not of_the_witness


def mix() -> tuple[tuple[str, Params], ...]:
    """Return every kind that works on proxies: in the ways above, or as it is by default."""
    named = {name for name, _ in WAYS}
    others = [
        name
        for name, kind in registry.table("faults").items()
        if works_on_proxies(kind) and name not in named
    ]
    return (*WAYS, *((name, {}) for name in others))


CLIENTS = 3
MESSAGES_BYTES = (33, 5_000, 100_000)
#: How long a fault lasts; nothing is measured by it.
HOLD_S = 0.02
#: How long the new connection may take for its answer: no fault is on it, so any slowness is the machine's.
CANARY_S = 10.0


@dataclass
class Soaked:
    """What came of it; ``wedged`` are the reasons, ``kinds`` how often each kind was armed and healed."""

    cycles: int = 0
    wedged: list[str] = field(default_factory=list)
    neighbour_lost: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


class Client:
    """A connection whose peer sends everything back; it reads on, whatever comes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._reading: asyncio.Task[None] | None = None

    @classmethod
    async def connect(cls, proxy: Proxy) -> Client:
        """Through a proxy."""
        return cls(*await asyncio.open_connection(*proxy.address.advertised))

    def talk(self, size_bytes: int) -> None:
        """Send so much, and read whatever comes until the end of the connection."""
        self._writer.write(bytes(size_bytes))
        self._reading = self._reading or asyncio.create_task(self._read())

    async def round_trip(self) -> None:
        """Send, and have it back. Any exception if not."""
        self._writer.write(b"canary")
        await self._reader.readexactly(6)

    def leave(self, *, reset: bool = True) -> None:
        """Close, by FIN or by RST."""
        if self._writer.is_closing():
            return
        if reset:
            linger = (1).to_bytes(4, sys.byteorder) + bytes(4)
            self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self._writer.transport.abort()
        else:
            self._writer.close()

    async def forget(self) -> None:
        """Close, and wait for the reading."""
        self._writer.transport.abort()
        if self._reading is not None:
            await self._reading

    async def _read(self) -> None:
        with suppress(OSError):
            while await self._reader.read(2**16):
                pass


class Stand:
    """One Toxiproxy with a proxy for each of ``addresses``; ``renew`` replaces it, on the same ports."""

    server: ProxyServer
    proxies: list[Proxy]

    def __init__(self, addresses: Sequence[LaneAddress], folder: Path, timeout_s: float) -> None:
        self._addresses, self._folder, self._timeout_s = addresses, folder, timeout_s
        self._stack = AsyncExitStack()

    async def open(self) -> None:
        """Start a server."""
        server = Toxiproxy(self._timeout_s).server(self._folder)
        self.server = await self._stack.enter_async_context(server)
        self.proxies = [await self.server.create(address) for address in self._addresses]

    async def close(self) -> None:
        """End it, whatever state it is in."""
        await self._stack.aclose()

    async def renew(self) -> None:
        """End it, and start another one."""
        await self.close()
        await self.open()

    async def is_as_new(self, lane: int) -> bool:
        """True if nothing is left on the proxy of ``lane``, and a new connection through it has its answer."""
        async with asyncio.timeout(CANARY_S):
            if not await self.proxies[lane].pristine():
                return False
            client = await Client.connect(self.proxies[lane])
            await client.round_trip()
            await client.forget()
            return True


@asynccontextmanager
async def stand(folder: Path, lanes: int = 2, timeout_s: float = READ_TIMEOUT_S) -> AsyncIterator[Stand]:
    """A server, and a peer behind it that sends everything back."""
    writers: list[asyncio.StreamWriter] = []

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        with suppress(OSError):
            while data := await reader.read(2**16):
                writer.write(data)  # and reads on, as a broker does whose answers are small
        writers.remove(writer)
        writer.transport.abort()

    peer = await asyncio.start_server(echo, "127.0.0.1", 0)
    end = ("127.0.0.1", int(peer.sockets[0].getsockname()[1]))
    with port_block(lanes) as ports:
        addresses = [LaneAddress(n, 1, ("127.0.0.1", ports[n]), end, end) for n in range(lanes)]
        it = Stand(addresses, folder, timeout_s)
        try:
            await it.open()
            yield it
        finally:
            await it.close()
            peer.close()
            for writer in writers:
                writer.transport.abort()
            await peer.wait_closed()


async def soak(it: Stand, cycles: int, seed: int) -> Soaked:
    """The cycles on lane 0 of ``it``, its lane 1 being the neighbour."""
    result, began_s = Soaked(), time.monotonic()
    dice = Dice(seed, "soak")
    neighbour = await Client.connect(it.proxies[1])
    for number in range(cycles):
        faults = [
            FaultSpec(kind, AtTime(number * 2 + n), int(HOLD_S * 1_000), params)
            for n, (kind, params) in enumerate(dice.choice(mix()) for _ in range(dice.between(1, 2)))
        ]
        result.cycles += 1
        result.kinds.update(fault.kind for fault in faults)
        try:
            await _arm_and_heal(it, faults, dice)
            reason = "" if await it.is_as_new(0) else "the proxy is not as it was"
        except (EnvironmentProblem, OSError, EOFError, TimeoutError) as error:
            reason = f"{type(error).__name__}: {error}"
        if reason:
            result.wedged.append(f"cycle {number}, {' and '.join(map(_said, faults))}: {reason}")
            await neighbour.forget()
            await it.renew()
            neighbour = await Client.connect(it.proxies[1])
        try:
            async with asyncio.timeout(CANARY_S):
                await neighbour.round_trip()
        except (OSError, EOFError, TimeoutError):
            result.neighbour_lost += 1
            await neighbour.forget()
            neighbour = await Client.connect(it.proxies[1])
    await neighbour.forget()
    result.seconds = time.monotonic() - began_s
    return result


async def _arm_and_heal(it: Stand, faults: Sequence[FaultSpec], dice: Dice) -> None:
    proxy = it.proxies[0]
    lane = LiveLane((proxy,), cast("WitnessLane", None), cast("Cluster", None), "t")
    kinds = [registry.fault(fault.kind) for fault in faults]
    armed = list(zip(kinds, faults, strict=True))
    clients: list[Client] = []
    newcomers: list[asyncio.Task[Client]] = []
    try:
        for kind, fault in armed:
            await kind.prepare(fault, lane)
        for _ in range(CLIENTS):
            clients.append(await Client.connect(proxy))
            clients[-1].talk(dice.choice(MESSAGES_BYTES))
        for kind, fault in armed:
            await kind.inject_live(fault, lane)
        for client in clients:
            client.talk(dice.choice(MESSAGES_BYTES))
        newcomers = [asyncio.create_task(Client.connect(proxy)) for _ in range(2)]
        clients[0].leave(reset=bool(dice.between(0, 1)))
        await asyncio.sleep(HOLD_S)
    finally:
        try:
            await _heal(armed if dice.between(0, 1) else armed[::-1], lane)
        finally:
            for task in newcomers:
                task.cancel()
            come = await asyncio.gather(*newcomers, return_exceptions=True)
            for client in (*clients, *(each for each in come if isinstance(each, Client))):
                await client.forget()


async def _heal(armed: Sequence[tuple[FaultKind, FaultSpec]], lane: LiveLane) -> None:
    """End all of them, also if one of them cannot be ended; then raise why not."""
    failed: list[Exception] = []
    for kind, fault in armed:
        try:
            await kind.heal_live(fault, lane)
        except EnvironmentProblem as error:
            failed.append(error)
    if failed:
        raise failed[0]


def _said(fault: FaultSpec) -> str:
    return f"{fault.kind} {json.dumps(fault.params)}"


def _told(result: Soaked) -> str:
    total = (
        f"{result.cycles} cycles, {sum(result.kinds.values())} faults of {len(result.kinds)} kinds, "
        f"{len(result.wedged)} wedged, neighbour lost {result.neighbour_lost}, {result.seconds:.0f} s"
    )
    kinds = [f"  {kind:<18}{count:>6}" for kind, count in sorted(result.kinds.items())]
    return "\n".join([total, *kinds, *(f"  wedged: {reason}" for reason in result.wedged)])


async def _main(cycles: int, seed: int) -> Soaked:
    with tempfile.TemporaryDirectory(prefix="kafka-trial-soak-") as folder:
        async with stand(Path(folder)) as it:
            return await soak(it, cycles, seed)


def main(argv: Sequence[str]) -> int:
    """Soak and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.soak", description=__doc__)
    parser.add_argument("--cycles", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    result = asyncio.run(_main(args.cycles, args.seed))
    sys.stdout.write((json.dumps(asdict(result)) if args.json else _told(result)) + "\n")
    return int(bool(result.wedged or result.neighbour_lost))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
