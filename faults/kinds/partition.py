"""Clients and brokers cannot reach each other: loudly, silently, or in one direction only.

## What it does
Loud: open connections end when the fault begins, and new ones are refused for its duration. Silent: connections stay
open and new ones can be made, but every byte in the chosen directions is discarded. At the end all connections are
closed, because each stream has a gap. The fault's ``brokers`` name the brokers that are cut off; by default all of
them.

## What it probes
One broker is lost while others are available. The client must find out (by an error, or by its timeouts alone), go on
with the others, and come back. In one direction only: requests arrive and responses do not, or the other way round.

## How it is made
In live mode a loud partition is a proxy that is disabled and enabled again, and a silent one is a ``timeout``
toxic with timeout 0 for each direction. In simulated mode the proxy refuses, or the pipes discard.

## Where it is seen
The client sees refusals, or silence. What is discarded before it reaches the witness is not recorded there. A hit is
therefore a connection that ended from the client's side during the fault or at its end. With ``downstream`` alone a hit
is, as with ``dropped_response``, a response that passed the witness. In simulated mode the hits of a silent
partition are the pieces of data that it discards.

## What it cannot do
It cannot separate brokers from each other, or some clients of a lane from others. It cannot keep clients from
connecting to a silent broker, because the proxy accepts (``connect_timeout`` is for that).
"""

from __future__ import annotations

from collections.abc import Sequence

from faults import listener
from faults.effects import cuts, frames, waits
from faults.kind import cut
from faults.swallow import let_through, swallow
from faults.toxics import STREAMS
from harness.model.errors import UsageError
from harness.model.evidence import Evidence
from harness.model.mode import BOTH_MODES
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.model.spec import FaultSpec
from harness.plugins.fault import Fault, FaultKind, FaultParam, LiveLane, each, passed, toxic_name
from harness.plugins.proxy import Proxy
from harness.simulated.lane import SimulatedLane


class Partition(Fault):
    """The fault kind ``partition``."""

    name = "partition"
    summary = (
        "brokers cannot be reached: connections are refused, or bytes are swallowed in one or both directions"
    )
    seen_by = ("client", "witness")
    shown_by = (
        "records waited for brokers that could not be reached, or answers passed that the client did without"
    )
    modes = BOTH_MODES
    params: tuple[FaultParam, ...] = (
        FaultParam("loud", 0, 0, 1, "1: connections end and are refused, 0: bytes are swallowed"),
        FaultParam("upstream", 1, 0, 1, "1: requests do not arrive"),
        FaultParam("downstream", 1, 0, 1, "1: responses do not arrive"),
    )

    def values(self, spec: FaultSpec) -> dict[str, int]:
        """Return the values. At least one direction must be cut, and a loud partition must cut both."""
        values = super().values(spec)
        cut_off = [stream for stream in STREAMS if values[stream]]
        if not cut_off:
            raise UsageError(
                "fault-does-nothing", "fault {fault!r} needs upstream or downstream", fault=self.name
            )
        if values["loud"] and len(cut_off) < len(STREAMS):
            raise UsageError(
                "partition-loud-one-way",
                "fault {fault!r} cannot be loud in one direction only: a refused connection "
                "carries nothing in either",
                fault=self.name,
            )
        return values

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Cut the brokers off."""

        async def cut_off(proxy: Proxy) -> None:
            if self._is_loud(spec):
                await listener.close(proxy, toxic_name(spec))
            for stream in self._swallowed(spec):
                await swallow(proxy, _toxic(spec, stream), stream)

        await each(lane.on(spec), cut_off)

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Reconnect the brokers."""

        async def join(proxy: Proxy) -> None:
            if self._is_loud(spec):
                await listener.reopen(proxy, toxic_name(spec))
            else:
                await let_through(proxy, *(_toxic(spec, stream) for stream in self._swallowed(spec)))

        await each(lane.on(spec), join)

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Cut the brokers off."""
        for proxy in lane.on(spec):
            if self._is_loud(spec):
                proxy.refuse(toxic_name(spec))
                proxy.cut()
            for stream in self._swallowed(spec):
                proxy.way(stream).silence(toxic_name(spec))

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Reconnect the brokers."""
        for proxy in lane.on(spec):
            proxy.accept(toxic_name(spec))
            restored = [way.restore(toxic_name(spec)) for way in (proxy.up, proxy.down)]
            if any(restored):
                proxy.cut()

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the connections that ended or, if only responses are discarded, those responses."""
        if self._swallowed(row.spec) == ["downstream"]:
            return sum(1 for _ in passed(row, frames, (FrameKind.RESPONSE,)))
        return sum(1 for _ in cut(row, frames))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        if self._is_loud(row.spec):
            return cuts.cut_off(row, evidence)
        if self._swallowed(row.spec) == ["downstream"]:
            return frames.unheard(row, evidence)
        return waits.held_up(row, evidence, unsent=True)

    def simulated_hits(self, row: FaultRow, frames: Sequence[Frame], lane: SimulatedLane) -> int:
        """Count the connections that ended, or the pieces of data that were discarded."""
        return self.hits(row, frames) if self._is_loud(row.spec) else lane.touched(toxic_name(row.spec))

    def _is_loud(self, spec: FaultSpec) -> bool:
        return bool(self.values(spec)["loud"])

    def _swallowed(self, spec: FaultSpec) -> list[str]:
        values = self.values(spec)
        return [] if values["loud"] else [stream for stream in STREAMS if values[stream]]


def _toxic(spec: FaultSpec, stream: str) -> str:
    return f"{toxic_name(spec)}-{stream}"


FAULT: FaultKind = Partition()
