"""One side is gone, and the other is not told.

## What it does
Every open connection loses its way in the moment the fault begins. As a rule the broker's end is closed and the
client's stays open: it hears nothing, and what the client sends during the fault goes nowhere. At the end of the fault
the client learns of it. With ``unaware_broker`` it is the other way round: the client's end is closed, and the broker
keeps a connection that nobody uses until the end of the fault.

## What it probes
Silence that is no slowness: only the request timeout, and for a connection without requests only the next use,
tells the client. It must not wait longer than that, and not take a written frame for a delivered one. With
``unaware_broker``: a client that comes back while the broker still keeps its old connection.

## How it is made
In the live world a ``slow_close`` toxic holds back the FIN that the unaware side would get. Then the other end of every
open connection is closed: by a ``timeout`` toxic towards it that is added and removed again, for in removing it
Toxiproxy closes those connections. Connections that are opened later work; but a FIN towards the unaware side waits for
the end of the fault on these as well. In the simulated world the proxy forgets what it carries, as a router does.

## Where it is seen
At the witness the connections end from the client's side (with ``unaware_broker`` when the fault ends), while the
client's end of them lives on: a hit is a connection that ended so during the fault, those included that the client
closed meanwhile. In the simulated world it is a connection that lost its way, and each frame that was sent nowhere.

## What it cannot do
Keep the peer's kernel silent: it still acknowledges, so nobody's TCP gives up. At the end a client is told by FIN or,
where something of it lies unread, by RST; in the simulated world by RST alone, and only if it sends. An answer that the
proxy has already when the fault begins still arrives. Who is not told learns of it early if a fault that slowed the
same direction before ends meanwhile, for Toxiproxy cannot take that out with a FIN held behind it. Brokers of the
simulated world look after no connections: with ``unaware_broker`` the old ones just end there, and new ones work.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.effects import cuts
from faults.kind import BOTH_WORLDS, Fault, cut, each, remove, toxic_name
from faults.swallow import swallow
from faults.toxics import HOUR_MS
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, FaultParam, LiveLane
from harness.plugins.proxy import Proxy
from harness.simulated.lane import SimulatedLane


class HalfOpen(Fault):
    """The fault kind ``half_open``."""

    name = "half_open"
    summary = "open connections lose one end, and the other is not told"
    shown_by = "connections ended, with all of their broker"
    worlds = BOTH_WORLDS
    params: tuple[FaultParam, ...] = (
        FaultParam("unaware_broker", 0, 0, 1, "1: the broker is not told, 0: the client is not told"),
    )

    async def start(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Lose the way."""
        held, severed = (
            ("upstream", "downstream") if self._unaware_broker(spec) else ("downstream", "upstream")
        )
        fin, end = _toxics(spec)

        async def lose(proxy: Proxy) -> None:
            await proxy.add_toxic(fin, "slow_close", held, 1.0, delay=HOUR_MS)
            await swallow(proxy, end, severed)
            await proxy.remove_toxic(end)

        await each(lane.on(spec), lose)

    async def stop(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Tell the side that was not told."""
        fin, end = _toxics(spec)

        async def tell(proxy: Proxy) -> None:
            try:
                await remove(proxy, end)
            finally:
                await remove(proxy, fin)

        await each(lane.on(spec), tell)

    def begin(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Lose the way."""
        for proxy in lane.on(spec):
            if self._unaware_broker(spec):
                proxy.touched[toxic_name(spec)] += len(proxy.connections)
                proxy.cut()
                continue
            for connection in list(proxy.connections):
                connection.orphan(toxic_name(spec))

    def end(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Have the way back, without anybody at its end."""
        for proxy in lane.on(spec):
            for connection in list(proxy.connections):
                connection.way_is_back(toxic_name(spec))

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Connections that ended from the client's side."""
        return sum(1 for _ in cut(row, frames))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return cuts.ended_together(row, evidence)

    def simulated_hits(self, row: FaultRow, frames: Sequence[Frame], lane: SimulatedLane) -> int:
        """Connections that lost their way, and frames that were sent nowhere."""
        return lane.touched(toxic_name(row.spec))

    def _unaware_broker(self, spec: FaultSpec) -> bool:
        return bool(self.values(spec)["unaware_broker"])


def _toxics(spec: FaultSpec) -> tuple[str, str]:
    return f"{toxic_name(spec)}-fin", f"{toxic_name(spec)}-end"


FAULT: FaultKind = HalfOpen()
