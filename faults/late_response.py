"""Answers wait behind a gate, and all come when it opens.

## What it does
For the duration of the fault requests reach the broker and are applied, and every answer is held back. When the fault
ends all of them arrive at once, in order: also to a client that has long given up waiting, if it kept its connection.

## What it probes
Answers behind the request timeout. A client that closes the connection on a timeout must send again what was applied;
one that keeps it must know a late answer for what it is, and not take it for that of a later request.

## How it is made
A delay of an hour on answers, which is taken away again: in the live world a ``latency`` toxic downstream, on open and
on later connections, whose delay is first set to 0, which lets go of what is held, and which is then removed.

## Where it is seen
The client sees silence, and then answers, unless it has left. At the witness the responses are on time: a hit is a
response that passed the witness during the fault.

## What it cannot do
Hold one answer and not the next (that is ``held_frame``). Toxiproxy has room for 1,024 pieces a connection; beyond that
the broker has to wait before it can write. New connections hear nothing before the end either.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.kind import BOTH_WORLDS, Fault, each, passed, remove, toxic_name
from faults.toxics import HOUR_MS
from harness.lane import LiveLane
from harness.ports import FaultKind
from harness.rows import FaultRow, Frame, FrameKind
from harness.simulated.lane import SimulatedLane
from harness.simulated.scheduler import NS_PER_MS
from harness.spec import FaultSpec


class LateResponse(Fault):
    """The fault kind ``late_response``."""

    name = "late_response"
    summary = "answers are held back for the duration, then all arrive"
    worlds = BOTH_WORLDS

    async def start(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Shut the gate."""
        await each(
            lane.on(spec),
            lambda proxy: proxy.add_toxic(
                toxic_name(spec), "latency", "downstream", 1.0, latency=HOUR_MS, jitter=0
            ),
        )

    async def stop(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Open it."""
        await each(lane.on(spec), lambda proxy: remove(proxy, toxic_name(spec)))

    def begin(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Shut the gate."""
        for proxy in lane.on(spec):
            proxy.down.delay(toxic_name(spec), HOUR_MS * NS_PER_MS)

    def end(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Open it."""
        for proxy in lane.on(spec):
            proxy.down.restore(toxic_name(spec))

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Responses held back."""
        return sum(1 for _ in passed(row, frames, (FrameKind.RESPONSE,)))


FAULT: FaultKind = LateResponse()
