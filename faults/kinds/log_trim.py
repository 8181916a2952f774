"""The log is trimmed to its end, as by DeleteRecords or by retention.

## What it does
When the fault begins, every partition of the topic loses its records up to the high watermark. Offsets continue from
where they were. The brokers keep their state about producers.

## What it probes
Whether the client interprets the new log start offset correctly: together with an error it says whether records that
the producer knows of can still be in the log.

## How it is made
In live mode the fault sends DeleteRecords up to the high watermark, once that is the log's end. In simulated mode it
trims the scripted partitions.

## Where it is seen
The brokers' log begins later than before: that is the proof. The client learns of it from every Produce response, whose
log start offset is not recorded in any row. A hit is therefore a Produce response that passes the witness during the
fault.

## What it cannot do
It cannot keep the records for later readers of the log. Evidence that is to distinguish this from a loss must include
the deleted records.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.broker_fault import BrokerFault, partitions, responses
from faults.effects import aftermath
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, LiveLane
from harness.simulated.lane import SimulatedLane
from harness.wire.apis import Api


class LogTrim(BrokerFault):
    """The fault kind ``log_trim``."""

    name = "log_trim"
    summary = "partitions lose the records that they have"
    seen_by = ("client", "witness", "broker")
    lingers_s = 0.0
    shown_by = "partitions lost batches from before the fault, and none from after it"

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Trim every partition."""
        for partition in await lane.cluster.partitions(lane.topic):
            await lane.cluster.alterations.delete_records(lane.topic, partition)

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Trim every partition."""
        for partition in partitions(lane):
            lane.cluster.trim(lane.topic, partition)

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the answers about partitions during the fault. They carry a log start offset, but no row records it."""
        return sum(1 for api in (Api.PRODUCE, Api.FETCH) for _ in responses(row, frames, api))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return aftermath.trimmed(row, evidence)


FAULT: FaultKind = LogTrim()
