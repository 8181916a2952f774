"""The log is trimmed to its end, as by DeleteRecords or by retention.

## What it does
When the fault begins every partition of the topic loses its records up to the high watermark; offsets go on from
where they were. What the brokers remember of producers stays.

## What it probes
Whether the client takes the new log start offset for what it is: with an error beside it, it says whether records
that the producer knows of can still be there.

## How it is made
By DeleteRecords up to the high watermark, once that is the log's end; in the simulated world in the scripted
partitions.

## Where it is seen
The brokers' log begins later than it did: that is the proof. The client is told of it by every Produce answer, whose
log start offset is in no row: a hit is a Produce answer that passes the witness during the fault.

## What it cannot do
Leave the records for who reads the log afterwards: evidence that is to tell this from a loss must read the deleted
records too.
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
    lingers_s = 0.0
    shown_by = "partitions lost batches of before, and none of after"

    async def start(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Trim."""
        for partition in await lane.cluster.partitions(lane.topic):
            await lane.cluster.alterations.delete_records(lane.topic, partition)

    def begin(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Trim."""
        for partition in partitions(lane):
            lane.cluster.trim(lane.topic, partition)

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Produce answers during the fault, each of which says a log start offset; which one no row tells."""
        return sum(1 for _ in responses(row, frames, Api.PRODUCE))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return aftermath.trimmed(row, evidence)


FAULT: FaultKind = LogTrim()
