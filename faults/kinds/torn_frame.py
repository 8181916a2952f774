"""A frame is cut in two, and its second half never arrives.

## What it does
On every connection that is open when the fault begins, the next frame (or its remainder, or its next piece) in the
chosen direction is the last: ``at_byte`` bytes of it pass, then the connection ends, by FIN or by RST. Connections that
carry nothing in that direction during the fault are not affected.

## What it probes
The end of a stream at any byte: inside the size field, inside a header, inside a batch. Half a response is not a
response, and half a request must not be appended. At byte 0: a request that is applied, and whose response triggers the
end of the connection.

## How it is made
In live mode the chosen direction has a ``limit_data`` toxic, which counts from the moment at which it is added to a
connection. For RST a ``reset_peer`` toxic with toxicity 0 is added to the lane before the client connects, as in
``reset``: connections that are opened while it is there end by RST, whatever closes them. In simulated mode the pipe
ends the connection.

## Where it is seen
At the witness the connections end from the client's side: upstream with the beginning of a request that never ended
(``at_byte`` above 0), downstream after a response. A hit is a connection that ended this way during the fault,
downstream only if a response passed on it meanwhile. In simulated mode it is a connection that was torn.

## What it cannot do
It cannot pass on the whole frame and cut after it (``close_at_frame`` does that). Toxiproxy counts bytes and does not
know frames. In live mode frames shorter than ``at_byte`` therefore pass and are counted, connections opened during
the fault are torn as well, and with ``reset`` a clean close is also an RST until the fault has ended.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.effects import cuts
from faults.kind import cut
from harness.model.evidence import Evidence
from harness.model.mode import BOTH_MODES
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.model.spec import FaultSpec
from harness.plugins.fault import Fault, FaultKind, FaultParam, LiveLane, each, passed, remove, toxic_name
from harness.plugins.proxy import Proxy
from harness.simulated.connection import Tear
from harness.simulated.lane import SimulatedLane


class TornFrame(Fault):
    """The fault kind ``torn_frame``."""

    name = "torn_frame"
    summary = "the next frame of each connection is cut at a byte, and the connection ends there"
    seen_by = ("client", "witness")
    shown_by = "connections ended in the middle of a frame, or after an answer that the client did without"
    modes = BOTH_MODES
    params: tuple[FaultParam, ...] = (
        FaultParam("upstream", 0, 0, 1, "1 for requests, 0 for responses"),
        FaultParam("at_byte", 2, 0, 1_048_576, "how much of the frame passes, at most all but one byte"),
        FaultParam("reset", 0, 0, 1, "1 for RST, 0 for FIN"),
    )

    async def prepare(self, spec: FaultSpec, lane: LiveLane) -> None:
        """If ``reset`` is set, make every later close of a connection that is opened from now on a reset."""
        if self.values(spec)["reset"]:
            linger = _linger(spec)
            await each(
                lane.on(spec), lambda proxy: proxy.add_toxic(linger, "reset_peer", "upstream", 0.0, timeout=0)
            )

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Arm the tear."""
        values = self.values(spec)
        stream = "upstream" if values["upstream"] else "downstream"
        await each(
            lane.on(spec),
            lambda proxy: proxy.add_toxic(
                toxic_name(spec), "limit_data", stream, 1.0, bytes=values["at_byte"]
            ),
        )

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Disarm the tear. Also undo a ``prepare`` without an ``inject_live``."""

        async def spare(proxy: Proxy) -> None:
            try:
                await remove(proxy, toxic_name(spec))
            finally:
                await remove(proxy, _linger(spec))

        await each(lane.on(spec), spare)

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Arm the tear."""
        values = self.values(spec)
        tear = Tear(toxic_name(spec), bool(values["upstream"]), values["at_byte"], bool(values["reset"]))
        for proxy in lane.on(spec):
            for connection in list(proxy.connections):
                connection.arm_tear(tear)

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Disarm the tear."""
        for proxy in lane.on(spec):
            for connection in list(proxy.connections):
                connection.disarm_tear(toxic_name(spec))

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the connections that ended; downstream, only those that ended after a response."""
        upstream = bool(self.values(row.spec)["upstream"])
        answered = {frame.conn for frame in passed(row, frames, (FrameKind.RESPONSE,))}
        return sum(upstream or end.conn in answered for end in cut(row, frames))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        values = self.values(row.spec)
        if values["upstream"]:
            return cuts.torn_requests(row, evidence, values["at_byte"])
        return cuts.torn_answers(row, evidence)

    def simulated_hits(self, row: FaultRow, frames: Sequence[Frame], lane: SimulatedLane) -> int:
        """Count the connections that were torn."""
        return lane.touched(toxic_name(row.spec))


def _linger(spec: FaultSpec) -> str:
    return f"{toxic_name(spec)}-linger"


FAULT: FaultKind = TornFrame()
