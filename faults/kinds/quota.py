"""Clients may produce so many bytes a second, and are throttled beyond that.

## What it does
For the duration every client id has a quota of ``bytes_per_s`` for what it produces, on each broker. A broker that
finds it exceeded does what it was asked, says in its answer how long the client is to hold back, and leaves the
connection unread for as long (KIP-219).

## What it probes
As ``throttle``, with times that depend on what the client really sends; whether its delivery timeouts and its memory
bear a broker that takes less than the application gives.

## How it is made
In the live world by a client quota (``producer_byte_rate`` of the default client id), which the brokers measure over
eleven seconds. In the simulated world there is ``throttle`` instead.

## Where it is seen
Answers say a throttle time: a hit is such an answer that passes the witness during the fault.

## What it cannot do
Throttle at once: the first seconds may pass, as no more than the quota's window has been sent.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.broker_fault import BrokerFault
from faults.effects import frames
from faults.kind import passed, toxic_name
from faults.wanted import wanted
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, FaultParam, LiveLane

RATE = "producer_byte_rate"


class Quota(BrokerFault):
    """The fault kind ``quota``."""

    name = "quota"
    summary = "clients may produce so many bytes a second, and are throttled beyond that"
    #: Brokers measure over eleven windows of a second, whatever a client id's quota; no broker tells what it measured.
    lingers_s = 12.0
    shown_by = "answers said to hold back"
    worlds = frozenset({"live"})
    params: tuple[FaultParam, ...] = (
        FaultParam("bytes_per_s", 10_000, 1, 1_000_000_000, "what a client id may produce on each broker"),
    )

    async def start(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Set the quota."""
        rate = self.values(spec)["bytes_per_s"]
        await wanted(lane.cluster, RATE).put(
            toxic_name(spec), rate, lambda rate: lane.cluster.alterations.alter_quota(RATE, rate)
        )

    async def stop(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Take it back."""
        await wanted(lane.cluster, RATE).take_back(
            toxic_name(spec), lambda rate: lane.cluster.alterations.alter_quota(RATE, rate)
        )

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Answers that said to hold back."""
        return sum(frame.throttle_ms > 0 for frame in passed(row, frames, (FrameKind.RESPONSE,)))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return sum(frame.throttle_ms > 0 for frame in frames.answers(row, evidence))


FAULT: FaultKind = Quota()
