"""A record batch of a Fetch response is damaged on the way.

## What it does
In each selected response to Fetch, one bit of one record batch changes, so its checksum is wrong. It is the batch
number ``batch`` of the first partition that has a whole one. The bit is the lowest one of a byte: of the checksum or,
with ``records``, of the last byte but one of the batch, which is the last of the last value if neither headers nor
compression follow. Everything else is as the broker wrote it.

## What it probes
Whether the client compares checksums (``check.crcs``). It must not deliver such a batch as if nothing were wrong with
it, and must not go past it without a word: it reports an error with the place, or fetches the batch again.

## How it is made
The witness changes the bit in the response.

## Where it is seen
At the witness, the row of the response says that it was changed, by which fault, and which offsets the batch has. A hit
is such a row.

## What it cannot do
It cannot damage a response without a whole batch, which passes unchanged, counts as selected, and is not a hit. It does
not damage fields that the checksum does not cover, such as the offset of the batch.
"""

from __future__ import annotations

from faults.frame_fault import FrameFault
from harness.model.errors import UsageError
from harness.model.spec import FaultSpec, FrameMatch
from harness.plugins.fault import FaultKind, FaultParam
from harness.wire.apis import Api, api_name
from harness.witness.actions import Action, changed
from harness.witness.damage import damaged


class DamagedBatch(FrameFault):
    """The fault kind ``damaged_batch``."""

    name = "damaged_batch"
    summary = "a record batch of single Fetch answers has a wrong checksum"
    seen_by = ("client", "witness")
    directions = ("response",)
    params: tuple[FaultParam, ...] = (
        FaultParam("batch", 0, 0, 1_000, "which batch of the partition, from 0, at most the last one"),
        FaultParam("records", 0, 0, 1, "1 to change the records, 0 to change the checksum"),
    )

    def match(self, spec: FaultSpec) -> FrameMatch:
        """Return which responses are selected. Raise UsageError for those of another API than Fetch."""
        match = super().match(spec)
        if match.api != api_name(Api.FETCH):
            raise UsageError(
                "frames-without-batches",
                "fault {fault!r} acts on answers to Fetch, not to {api}",
                fault=self.name,
                api=match.api,
            )
        return match

    def action(self, spec: FaultSpec) -> Action:
        """Return the action that damages the batch."""
        values = self.values(spec)
        return changed(damaged(values["batch"], in_records=bool(values["records"])))


FAULT: FaultKind = DamagedBatch()
