"""How many times faults can begin and end on one Toxiproxy before it hangs. Its control API used to hang.

``python -m benchmarks.soak [--cycles N] [--seed N] [--json]``

In each cycle, one or two faults drawn from the seed overlap on a lane. Every kind that uses proxies occurs. When the
faults begin, clients have requests and responses in transit. During the faults other clients connect, and one client
leaves by FIN or RST. Afterwards the lane must be in its initial state: the proxy is enabled and has no toxics, and a
new connection gets a response. A neighbouring lane keeps one connection through all cycles, and must get a response in
each of them.

The peer always reads. A peer that does not read, behind a full pipe, makes Toxiproxy 2.12 hang in any case.

A cycle counts as wedged if the lane is not in its initial state afterwards, or if a control call got no response. The
benchmark prints the reason and replaces the server by a new one on the same ports. The exit code is 1 if any cycle was
wedged, or if the neighbour lost its connection.
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
from faults.member_fault import MemberFault
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

#: Kinds of faults that use proxies, with different parameters.
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
    """Return whether the kind has a lane's proxies to itself, and needs neither witness, brokers nor members."""
    on_others = isinstance(kind, FrameFault | MemberFault | WitnessFault) or getattr(
        kind, "of_members", False
    )
    return not kind.exclusive_cluster and Mode.LIVE in kind.modes and not on_others


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
#: How long a fault lasts. No measurement depends on it.
HOLD_S = 0.02
#: The time limit for the response on a new connection. No fault affects it, so only the machine can be slow.
CANARY_S = 10.0


@dataclass
class Soaked:
    """The result. ``wedged`` contains reasons, and ``kinds`` how often each kind was injected and healed."""

    cycles: int = 0
    wedged: list[str] = field(default_factory=list)
    neighbour_lost: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


class Client:
    """A connection to a peer that echoes everything. It keeps reading, whatever arrives."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._reading: asyncio.Task[None] | None = None

    @classmethod
    async def connect(cls, proxy: Proxy) -> Client:
        """Connect through a proxy."""
        return cls(*await asyncio.open_connection(*proxy.address.advertised))

    def talk(self, size_bytes: int) -> None:
        """Send ``size_bytes`` bytes, and read until the connection ends."""
        self._writer.write(bytes(size_bytes))
        self._reading = self._reading or asyncio.create_task(self._read())

    async def round_trip(self) -> None:
        """Send data and read it back. Raise an exception if that fails."""
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
        """Close the connection, and wait until reading has ended."""
        self._writer.transport.abort()
        if self._reading is not None:
            await self._reading

    async def _read(self) -> None:
        with suppress(OSError):
            while await self._reader.read(2**16):
                pass


class Stand:
    """One Toxiproxy with a proxy for each of ``addresses``. ``renew`` replaces it on the same ports."""

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
        """Stop the server, whatever state it is in."""
        await self._stack.aclose()

    async def renew(self) -> None:
        """Stop the server, and start another one."""
        await self.close()
        await self.open()

    async def is_as_new(self, lane: int) -> bool:
        """Return whether the proxy of ``lane`` has no toxics and a new connection through it gets a response."""
        async with asyncio.timeout(CANARY_S):
            if not await self.proxies[lane].pristine():
                return False
            client = await Client.connect(self.proxies[lane])
            await client.round_trip()
            await client.forget()
            return True


@asynccontextmanager
async def stand(folder: Path, lanes: int = 2, timeout_s: float = READ_TIMEOUT_S) -> AsyncIterator[Stand]:
    """Yield a server and, behind it, a peer that echoes everything."""
    writers: list[asyncio.StreamWriter] = []

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        with suppress(OSError):
            while data := await reader.read(2**16):
                writer.write(data)  # and keeps reading, like a broker whose responses are small
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
    """Run the cycles on lane 0 of ``it``. Its lane 1 is the neighbour."""
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
            reason = "" if await it.is_as_new(0) else "the proxy is not in its initial state"
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
    """End all faults, even if one of them cannot be ended. Then raise the first error."""
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
    """Run the cycles and print the result."""
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
