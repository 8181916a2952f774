"""Idle connections are killed on the way.

## What it does
While the fault lasts, a connection ends as soon as its client has sent nothing for ``idle_ms``, counted from the
beginning of the fault at the earliest. This includes a client that sent a request and waits that long for the response.
What a client sends meanwhile postpones the end of its connection but is discarded, as by a middlebox that has already
forgotten the connection. When the fault ends, the connections that are left are closed, because their streams may have
gaps.

## What it probes
A load balancer or firewall whose idle timeout is shorter than ``connections.max.idle.ms``. A client finds that its idle
connection has ended, or that it ends just when the client sends. It must reconnect, and send again what was not
answered.

## How it is made
The lane has a ``timeout`` toxic upstream with ``idle_ms`` as its timeout, on open and on later connections.

## Where it is seen
The client reads the end of the stream. At the witness the connections end from the client's side. A hit is a connection
that ended this way, during the fault or at its end.

## What it cannot do
It cannot kill idle connections and let busy ones work, because Toxiproxy watches for silence only where it discards
data. It cannot distinguish an idle connection from one that waits for its response. It does not exist in simulated
mode.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.effects import cuts
from faults.kind import cut
from faults.swallow import let_through, swallow
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.model.units import NS_PER_MS
from harness.plugins.fault import Fault, FaultKind, FaultParam, LiveLane, each, toxic_name


class IdleKill(Fault):
    """The fault kind ``idle_kill``."""

    name = "idle_kill"
    summary = "connections whose client is silent for a while end"
    seen_by = ("client", "witness")
    shown_by = "connections ended after their client had been silent for that long, or when the fault ended"
    params: tuple[FaultParam, ...] = (
        FaultParam("idle_ms", 1_000, 1, 600_000, "how long a client may be silent"),
    )

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Watch for silent clients."""
        idle_ms = self.values(spec)["idle_ms"]
        await each(lane.on(spec), lambda proxy: swallow(proxy, toxic_name(spec), "upstream", idle_ms))

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Close the connections that are left, and let requests through again."""
        await each(lane.on(spec), lambda proxy: let_through(proxy, toxic_name(spec)))

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the connections that ended."""
        return sum(1 for _ in cut(row, frames))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return cuts.killed_idle(row, evidence, self.values(row.spec)["idle_ms"] * NS_PER_MS)


FAULT: FaultKind = IdleKill()
