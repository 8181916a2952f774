"""Every connection is reset (RST).

## What it does
All connections of the lane are reset at once, and data that either side has not read yet is lost. The listener stays
closed for the duration of the fault, which may be 0.

## What it probes
The same lost requests as ``disconnect``, but through an error on read or write (``ECONNRESET``) instead of the end of a
stream. Clients that handle only one of the two hang or lose records on the other.

## How it is made
Before the client connects, a ``reset_peer`` toxic with toxicity 0 is added to the lane. It does not change the bytes,
but connections that are opened while it is there have a linger time of 0, so that any later close resets them. Then the
proxy is disabled, and enabled again after the duration; the toxic is removed in between. (Adding ``reset_peer`` to a
connection that is already open results in FIN.)

## Where it is seen
The client's next call fails with ``ECONNRESET``, and so does the witness's, which passes the reset on to the broker. A
hit is a connection that ended from the client's side.

## What it cannot do
It cannot reset one connection of several. Until the fault has happened, every other end of a connection on the lane is
a reset too, including a clean close. It relies on a behaviour of Toxiproxy (issue 603) that the tests check. In
simulated mode only the fault itself resets.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults import listener
from faults.effects import cuts
from faults.kind import cut
from harness.model.evidence import Evidence
from harness.model.mode import BOTH_MODES
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.plugins.fault import Fault, FaultKind, LiveLane, each, remove, toxic_name
from harness.plugins.proxy import Proxy
from harness.simulated.lane import SimulatedLane


class Reset(Fault):
    """The fault kind ``reset``."""

    name = "reset"
    summary = "all connections end with RST; the listener is back after the duration"
    seen_by = ("client", "witness", "broker")
    shown_by = "connections ended together with all others to their broker"
    modes = BOTH_MODES

    async def prepare(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Make every later close of a connection that is opened from now on a reset."""
        await each(
            lane.on(spec),
            lambda proxy: proxy.add_toxic(toxic_name(spec), "reset_peer", "upstream", 0.0, timeout=0),
        )

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Reset the connections, and refuse new ones."""
        await each(lane.on(spec), lambda proxy: listener.close(proxy, toxic_name(spec)))

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Accept connections again, with ordinary closes. Also undo a ``prepare`` without an ``inject_live``."""

        async def restore(proxy: Proxy) -> None:
            try:
                await remove(proxy, toxic_name(spec))
            finally:
                await listener.reopen(proxy, toxic_name(spec))

        await each(lane.on(spec), restore)

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Reset the connections, and refuse new ones."""
        for proxy in lane.on(spec):
            proxy.refuse(toxic_name(spec))
            proxy.cut(reset=True)

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Accept connections again."""
        for proxy in lane.on(spec):
            proxy.accept(toxic_name(spec))

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the connections that were reset."""
        return sum(1 for _ in cut(row, frames))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return cuts.ended_together(row, evidence)


FAULT: FaultKind = Reset()
