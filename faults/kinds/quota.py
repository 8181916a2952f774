"""Clients are throttled above a quota of bytes per second.

## What it does
For the duration every client id may produce ``bytes_per_s`` on each broker. If the quota is exceeded, a broker executes
the request, reports in its response how long the client has to hold back, and does not read from the connection for
that time (KIP-219).

## What it probes
The same as ``throttle``, with times that depend on what the client really sends. It also probes whether the client's
delivery timeouts and its memory cope with a broker that takes less than the application gives.

## How it is made
In live mode the fault sets a client quota (``producer_byte_rate`` of the default client id), which the brokers measure
over eleven seconds. In simulated mode, use ``throttle`` instead.

## Where it is seen
Responses contain a throttle time. A hit is such a response that passes the witness during the fault.

## What it cannot do
It cannot throttle at once: the first seconds may pass, since no more than the quota's window has been sent.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.broker_fault import BrokerFault
from faults.effects import frames
from faults.wanted import wanted
from harness.model.evidence import Evidence
from harness.model.mode import LIVE_ONLY
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, FaultParam, LiveLane, passed, toxic_name

#: The quotas by the value of ``fetched``.
RATES = ("producer_byte_rate", "consumer_byte_rate")


class Quota(BrokerFault):
    """The fault kind ``quota``."""

    name = "quota"
    summary = "clients are throttled above a quota of bytes per second"
    seen_by = ("witness",)
    #: Brokers measure over eleven windows of one second, whatever a client id's quota. They cannot be asked for the
    #: measured value.
    lingers_s = 12.0
    shown_by = "answers contained a throttle time"
    modes = LIVE_ONLY
    params: tuple[FaultParam, ...] = (
        FaultParam("bytes_per_s", 10_000, 1, 1_000_000_000, "how much a client id may send to each broker"),
        FaultParam("fetched", 0, 0, 1, "1: the quota is for what brokers send to the client id"),
    )

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Set the quota."""
        values = self.values(spec)
        name = RATES[values["fetched"]]
        await wanted(lane.cluster, name).put(
            toxic_name(spec),
            values["bytes_per_s"],
            lambda rate: lane.cluster.alterations.alter_quota(name, rate),
        )

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Remove the quota."""
        name = RATES[self.values(spec)["fetched"]]
        await wanted(lane.cluster, name).take_back(
            toxic_name(spec), lambda rate: lane.cluster.alterations.alter_quota(name, rate)
        )

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the responses with a throttle time."""
        return sum(frame.throttle_ms > 0 for frame in passed(row, frames, (FrameKind.RESPONSE,)))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return sum(frame.throttle_ms > 0 for frame in frames.answers(row, evidence))


FAULT: FaultKind = Quota()
