"""Connections that say nothing are killed on the way.

## What it does
While the fault lasts, a connection ends as soon as its client has sent nothing for ``idle_ms``, counted from the
beginning of the fault at the earliest; who has only just sent a request is no exception if it waits so long for the
answer. What a client sends meanwhile puts its end off, and is thrown away: to whoever kills it, the connection is
forgotten already. At the end of the fault the connections that are left are closed, for there may be holes in them.

## What it probes
The balancer or firewall whose patience is shorter than ``connections.max.idle.ms``: a client finds its idle connection
gone, or gone just when it sends. It must connect again, and send again what was not answered.

## How it is made
A ``timeout`` toxic upstream with ``idle_ms`` as its timeout, on open and on later connections.

## Where it is seen
The client reads the end of the stream. At the witness the connections end from the client's side: a hit is a
connection that did, during the fault or by its end.

## What it cannot do
Kill the idle and carry the busy: Toxiproxy watches for silence only where it swallows. Tell an idle connection from one
that waits for its answer. It is not in the simulated world.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.effects import cuts
from faults.kind import Fault, cut, each, toxic_name
from faults.swallow import let_through, swallow
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.model.units import NS_PER_MS
from harness.plugins.fault import FaultKind, FaultParam, LiveLane


class IdleKill(Fault):
    """The fault kind ``idle_kill``."""

    name = "idle_kill"
    summary = "connections whose client is silent for a while end"
    shown_by = "connections ended of which nothing had come for so long, or at its end"
    params: tuple[FaultParam, ...] = (
        FaultParam("idle_ms", 1_000, 1, 600_000, "how long a client may be silent"),
    )

    async def start(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Watch for silence."""
        idle_ms = self.values(spec)["idle_ms"]
        await each(lane.on(spec), lambda proxy: swallow(proxy, toxic_name(spec), "upstream", idle_ms))

    async def stop(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Close what is left, and let requests through again."""
        await each(lane.on(spec), lambda proxy: let_through(proxy, toxic_name(spec)))

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Connections that ended."""
        return sum(1 for _ in cut(row, frames))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return cuts.killed_idle(row, evidence, self.values(row.spec)["idle_ms"] * NS_PER_MS)


FAULT: FaultKind = IdleKill()
