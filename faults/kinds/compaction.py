"""The topic begins with records that log compaction has thinned out.

## What it does
Before the first client starts, the harness writes records with keys to each partition, some of them several times, and
waits until only the newest of each key is left. The offsets of the others have no record. The load follows.

## What it probes
Whether a reader goes on behind offsets that are gone: within a batch, at its begin and end, and where whole batches are
missing.

## How it is made
In live mode the topic is compacted for as long as the fault prepares it (``cleanup.policy``, ``segment.ms``,
``min.cleanable.dirty.ratio``), and the brokers' own log cleaner does it. A producer cannot bring offsets with gaps:
brokers refuse a batch whose offsets are not as many as its records (``LogValidator``). In simulated mode the scripted
logs are compacted in the same way.

## Where it is seen
The log read back lacks offsets between others: that is the proof.

## What it cannot do
It compacts nothing while clients read, and no transactions.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from itertools import count
from typing import Final

from faults.broker_fault import BrokerFault, partitions
from harness.brokers.connection import NotYet
from harness.brokers.deadline import insist
from harness.model.evidence import Evidence
from harness.model.payload import Identity, encode
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.model.units import NS_PER_MS
from harness.plugins.fault import FaultKind, LiveLane
from harness.simulated.lane import SimulatedLane
from harness.trial.contents import ASIDE, ASIDE_BYTES, built
from harness.wire.records import Codec

#: The keys of each batch, in the order in which they are written. The last batch is never cleaned.
BATCHES: Final = (
    tuple(range(10)),
    tuple(range(5)),
    (20, 21),
    (7, 8, 9, 0, 22),
    (20, 21),
    (4,),
    (30,),
)
CODECS: Final = (Codec.GZIP, Codec.NONE)
#: What makes the cleaner clean at once all but the segment that is written to.
COMPACTED: Final = {"cleanup.policy": "compact", "segment.ms": "1", "min.cleanable.dirty.ratio": "0.0"}
CLEANED_S: Final = 60.0
#: How much later each batch is than the one before: a segment ends by the time of its records.
STEP_MS: Final = 1_000


def superseded() -> frozenset[int]:
    """Return the offsets of a partition whose key comes again later."""
    keys = [key for batch in BATCHES for key in batch]
    return frozenset(offset for offset, key in enumerate(keys) if key in keys[offset + 1 :])


def batches(topic: str, partition: int, first_ms: int) -> list[bytes]:
    """Return the batches of one partition. The first one has the Unix time ``first_ms``."""
    numbers = count(partition * 1_000)
    return [
        built(
            tuple(
                (f"c{key}", encode(Identity(topic, topic, ASIDE, next(numbers)), ASIDE_BYTES)) for key in keys
            ),
            CODECS[at % len(CODECS)],
            first_ms + at * STEP_MS,
        )
        for at, keys in enumerate(BATCHES)
    ]


class Compaction(BrokerFault):
    """The fault kind ``compaction``."""

    name = "compaction"
    summary = "the topic begins with records that log compaction has thinned out"
    seen_by = ("client", "broker")
    exclusive_cluster = False
    of_members = True
    before_members = True
    shown_by = "offsets of the log have no record"

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Write the records, and wait for the cleaner."""
        topic, alterations = lane.topic, lane.cluster.alterations
        for name, value in COMPACTED.items():
            await alterations.alter_topic(topic, name, value)
        gone: set[tuple[int, int]] = set()

        async def fill(partition: int) -> None:
            bases = [
                await lane.cluster.contents.append(topic, partition, batch)
                for batch in batches(topic, partition, time.time_ns() // NS_PER_MS)
            ]
            gone.update((partition, bases[0] + offset) for offset in superseded())

        async def cleaned() -> None:
            rows = await lane.cluster.read_log(topic)
            if left := sum((row.partition, row.offset) in gone for row in rows):
                raise NotYet("not-compacted", "the log cleaner has left {count:record}", count=left)

        await asyncio.gather(*map(fill, range(lane.partitions)))
        await insist(f"compacting {topic!r}", CLEANED_S, cleaned)
        await self.heal_live(spec, lane)

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Give the topic its settings back."""
        for name in COMPACTED:
            await lane.cluster.alterations.alter_topic(lane.topic, name, None)

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Write the records, and compact."""
        first_ms = lane.cluster.state.wall_ms_at_zero
        for partition in partitions(lane):
            stored = batches(lane.topic, partition, first_ms)
            lane.cluster.fill(lane.topic, partition, stored, lane.now_ns)
            lane.cluster.compact(lane.topic, partition, superseded())

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the fault itself: it acts on the log, not on frames."""
        return int(row.effective_ns is not None)

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        offsets: dict[int, set[int]] = {}
        for record in evidence.log:
            offsets.setdefault(record.partition, set()).add(record.offset)
        return sum(max(found) - min(found) + 1 - len(found) for found in offsets.values())


FAULT: FaultKind = Compaction()
