"""The brokers forget every producer.

## What it does
When the fault begins, every partition forgets its state about every idempotent producer: epochs, sequences, the last
five batches. A real broker does that after ``producer.id.expiration.ms`` without a batch.

## What it probes
Whether an idempotent producer goes on with its next sequence number, which a broker without that state accepts. If a
retry is on its way at that moment, how far the idempotence guarantee reaches.

## How it is made
In live mode ``producer.id.expiration.ms`` is 1 for the duration; the brokers check twice per second. In simulated
mode the scripted partitions forget once, when the fault begins.

## Where it is seen
At the witness: a hit is a batch of an idempotent producer that arrived during the fault. No row records that its
producer was forgotten; instead the fault asks the brokers (DescribeProducers), and fails if they still remember it. So
a batch after the fault is from a forgotten producer if its producer was known before.

## What it cannot do
It cannot take the ids away from the producers, and it shows in no response, because the brokers have nothing to object
to. A batch that was appended before the fault and is sent again after it is stored twice, as on a real broker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from faults.broker_fault import BrokerFault
from faults.effects import aftermath
from faults.wanted import wanted
from harness.model.errors import UsageError
from harness.model.evidence import Evidence
from harness.model.mode import Mode
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, LiveLane, passed, toxic_name
from harness.simulated.lane import SimulatedLane

EXPIRATION = "producer.id.expiration.ms"
#: Twice the interval at which live brokers look for producers to forget.
LEAST_MS = 1_000


class ProducerIdExpiry(BrokerFault):
    """The fault kind ``producer_id_expiry``."""

    name = "producer_id_expiry"
    summary = "partitions forget the sequences of every producer"
    seen_by = ("witness", "broker")
    lingers_s = 0.0
    shown_by = "producers continued in partitions whose brokers reported that they had forgotten them"

    def check(self, spec: FaultSpec, mode: Mode) -> None:
        """Check the parameters. Raise UsageError if the duration is so short that the brokers may not check in it."""
        super().check(spec, mode)
        if mode == Mode.LIVE and spec.duration_ms < LEAST_MS:
            raise UsageError(
                "fault-too-short",
                "fault {fault!r} lasts at least {least_ms} ms, not {duration_ms}",
                fault=self.name,
                least_ms=LEAST_MS,
                duration_ms=spec.duration_ms,
            )

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Expire producer state older than a millisecond, and wait until every partition has done so once."""
        await wanted(lane.cluster, EXPIRATION).put(
            toxic_name(spec), "1", lambda ms: lane.cluster.alterations.alter_brokers(EXPIRATION, ms)
        )
        partitions = await lane.cluster.partitions(lane.topic)
        forget = lane.cluster.alterations.forget_producers
        await asyncio.gather(*(forget(lane.topic, partition) for partition in partitions))

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Restore the old expiration time."""
        await wanted(lane.cluster, EXPIRATION).take_back(
            toxic_name(spec), lambda ms: lane.cluster.alterations.alter_brokers(EXPIRATION, ms)
        )

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Forget every producer."""
        lane.cluster.expire_producers(lane.now_ns)

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the batches with a producer id that arrived during the fault."""
        requests = passed(row, frames, (FrameKind.REQUEST,))
        parts = (part for frame in requests for part in frame.produce)
        return sum(1 for part in parts if part.producer_id is not None and part.producer_id >= 0)

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return aftermath.went_on(row, evidence)


FAULT: FaultKind = ProducerIdExpiry()
