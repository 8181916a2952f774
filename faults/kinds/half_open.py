"""One side of the connection is gone, and the other side is not notified.

## What it does
Every open connection is severed at the moment the fault begins. By default the broker's end is closed and the client's
end stays open: the client receives nothing, and what it sends during the fault is lost. When the fault ends, the client
is notified. With ``unaware_broker`` it is the other way round: the client's end is closed, and the broker keeps an
unused connection until the fault ends.

## What it probes
Silence that is not slowness. The client learns of it only by its request timeout or, on a connection without requests,
when it next uses the connection. It must not wait longer than that, and must not take a written frame for a delivered
one. With ``unaware_broker``: a client that reconnects while the broker still keeps its old connection.

## How it is made
In live mode a ``slow_close`` toxic holds back the FIN that the unaware side would get. Then the other end of every
open connection is closed by a ``timeout`` toxic towards it that is added and removed again, since Toxiproxy closes
those connections when it removes the toxic. Connections that are opened later work, but a FIN towards the unaware side
waits for the end of the fault on these as well. In simulated mode the proxy forgets its connections, as a router
does.

## Where it is seen
At the witness the connections end from the client's side (with ``unaware_broker``, when the fault ends), while the
client's end of them stays open. A hit is a connection that ended this way during the fault, including those that the
client closed meanwhile. In simulated mode hits are the connections that were severed, and each frame that was sent on
one of them and lost.

## What it cannot do
It cannot keep the peer's kernel silent: the kernel still acknowledges, so neither side's TCP gives up. At the end a
client is notified by FIN or, if it has unread data on its way, by RST; in simulated mode by RST alone, and only if
it sends. A response that the proxy already holds when the fault begins still arrives. The unaware side learns of the
end early if an earlier fault that slowed the same direction ends meanwhile, because Toxiproxy cannot remove that
fault's toxic while a FIN is held after it. Brokers of simulated mode do not track connections: with
``unaware_broker`` the old ones just end there, and new ones work.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.effects import cuts
from faults.kind import cut
from faults.swallow import swallow
from faults.toxics import HOUR_MS
from harness.model.evidence import Evidence
from harness.model.mode import BOTH_MODES
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.plugins.fault import Fault, FaultKind, FaultParam, LiveLane, each, remove, toxic_name
from harness.plugins.proxy import Proxy
from harness.simulated.lane import SimulatedLane


class HalfOpen(Fault):
    """The fault kind ``half_open``."""

    name = "half_open"
    summary = "open connections lose one end, and the other is not notified"
    seen_by = ("client", "witness")
    shown_by = "connections ended together with all others to their broker"
    modes = BOTH_MODES
    params: tuple[FaultParam, ...] = (
        FaultParam("unaware_broker", 0, 0, 1, "1: the broker is not notified, 0: the client is not notified"),
    )

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Sever the open connections."""
        held, severed = (
            ("upstream", "downstream") if self._unaware_broker(spec) else ("downstream", "upstream")
        )
        fin, end = _toxics(spec)

        async def lose(proxy: Proxy) -> None:
            await proxy.add_toxic(fin, "slow_close", held, 1.0, delay=HOUR_MS)
            await swallow(proxy, end, severed)
            await proxy.remove_toxic(end)

        await each(lane.on(spec), lose)

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Notify the unaware side."""
        fin, end = _toxics(spec)

        async def tell(proxy: Proxy) -> None:
            try:
                await remove(proxy, end)
            finally:
                await remove(proxy, fin)

        await each(lane.on(spec), tell)

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Sever the open connections."""
        for proxy in lane.on(spec):
            if self._unaware_broker(spec):
                proxy.touched[toxic_name(spec)] += len(proxy.connections)
                proxy.cut()
                continue
            for connection in list(proxy.connections):
                connection.orphan(toxic_name(spec))

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Restore the path, without a peer at its other end."""
        for proxy in lane.on(spec):
            for connection in list(proxy.connections):
                connection.way_is_back(toxic_name(spec))

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the connections that ended from the client's side."""
        return sum(1 for _ in cut(row, frames))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return cuts.ended_together(row, evidence)

    def simulated_hits(self, row: FaultRow, frames: Sequence[Frame], lane: SimulatedLane) -> int:
        """Count the connections that were severed, and the frames that were sent on them and lost."""
        return lane.touched(toxic_name(row.spec))

    def _unaware_broker(self, spec: FaultSpec) -> bool:
        return bool(self.values(spec)["unaware_broker"])


def _toxics(spec: FaultSpec) -> tuple[str, str]:
    return f"{toxic_name(spec)}-fin", f"{toxic_name(spec)}-end"


FAULT: FaultKind = HalfOpen()
