"""Every connection is cut, rudely (RST).

## What it does
All connections of the lane are reset at once; what either side had not read yet is gone. The listener stays closed
for the duration of the fault, which may be 0.

## What it probes
The same lost requests as ``disconnect``, met by another road: an error on read or write (``ECONNRESET``) and not the
end of a stream. Clients that handle only the one of them hang or lose records on the other.

## How it is made
Before the client connects, a ``reset_peer`` toxic with toxicity 0 is laid under the lane. It does nothing to the
bytes, but connections that are opened over it carry a linger time of 0, so that whatever closes them later resets
them. Then the proxy is disabled, and after the duration enabled again; the toxic is taken away in between. (Adding
``reset_peer`` to a connection that is open already gives FIN.)

## Where it is seen
The client's next call fails with ``ECONNRESET``, and so does the witness's, which passes the reset on to the broker:
a hit is a connection that ended from the client's side.

## What it cannot do
Reset one connection of several. Until the fault has happened, every other end of a connection on the lane, a clean
one included, is a reset as well. It rests on a behaviour of Toxiproxy (issue 603) that the tests watch over. In the
simulated world nothing but the fault itself resets.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults import listener
from faults.effects import cuts
from faults.kind import BOTH_WORLDS, Fault, cut, each, remove, toxic_name
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, LiveLane
from harness.plugins.proxy import Proxy
from harness.simulated.lane import SimulatedLane


class Reset(Fault):
    """The fault kind ``reset``."""

    name = "reset"
    summary = "all connections end with RST; the listener is back after the duration"
    shown_by = "connections ended, with all of their broker"
    worlds = BOTH_WORLDS

    async def prepare(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Make every later close of a connection that is opened from now on a reset."""
        await each(
            lane.on(spec),
            lambda proxy: proxy.add_toxic(toxic_name(spec), "reset_peer", "upstream", 0.0, timeout=0),
        )

    async def start(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Reset, and refuse."""
        await each(lane.on(spec), lambda proxy: listener.close(proxy, toxic_name(spec)))

    async def stop(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Accept again, with ordinary closes; also takes back a ``prepare`` that no ``start`` followed."""

        async def restore(proxy: Proxy) -> None:
            try:
                await remove(proxy, toxic_name(spec))
            finally:
                await listener.reopen(proxy, toxic_name(spec))

        await each(lane.on(spec), restore)

    def begin(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Reset, and refuse."""
        for proxy in lane.on(spec):
            proxy.refuse(toxic_name(spec))
            proxy.cut(reset=True)

    def end(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Accept again."""
        for proxy in lane.on(spec):
            proxy.accept(toxic_name(spec))

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Connections reset."""
        return sum(1 for _ in cut(row, frames))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return cuts.ended_together(row, evidence)


FAULT: FaultKind = Reset()
