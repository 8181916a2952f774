"""A producer begins a transaction in every partition, and ends it late.

## What it does
When the fault begins, the harness writes records to each partition in a transaction of its own. The transaction stays
open. At the end of the fault it is committed or aborted.

## What it probes
A member with ``isolation.level=read_committed`` gets nothing behind the first record of an open transaction (the last
stable offset), and everything once it has ended, without what was aborted.

## How it is made
In live mode a transactional producer of the harness writes over INTERNAL. In simulated mode the batches and their end
markers are stored in the scripted logs.

## Where it is seen
Records that are written during the fault are delivered only after it.

## What it cannot do
Members with ``read_uncommitted`` do not notice it.
"""

from __future__ import annotations

from typing import Final

from faults.effects import members
from faults.member_fault import Group, MemberFault
from harness.model.evidence import Evidence
from harness.model.harness_events import HARNESS
from harness.model.rows import FaultRow
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, FaultParam, LiveLane, toxic_name

RECORDS: Final = FaultParam("records", 3, 1, 100, "the records of the transaction in each partition")
COMMITS: Final = FaultParam("commits", 1, 0, 1, "1: the transaction is committed; 0: it is aborted")


class OpenTransaction(MemberFault):
    """The fault kind ``open_transaction``."""

    name = "open_transaction"
    summary = "a transaction stays open in each partition, and is committed or aborted at the end"
    seen_by = ("client", "broker")
    params: tuple[FaultParam, ...] = (RECORDS, COMMITS)
    shown_by = "records were delivered only after the transaction had ended"

    async def prepare(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Get the producer's id: for the first one, a cluster creates the topic of its transactions."""
        assert lane.members is not None  # harness/planning/validate_group
        await lane.members.prepare_transaction(toxic_name(spec))

    async def target(self, spec: FaultSpec, group: Group) -> str | None:
        """Return the harness, which writes."""
        return HARNESS

    async def act(self, spec: FaultSpec, group: Group, process: str) -> None:
        """Begin the transaction."""
        await group.members.open_transaction(toxic_name(spec), self.values(spec)["records"])

    async def undo(self, spec: FaultSpec, group: Group, process: str) -> None:
        """End the transaction."""
        commits = bool(self.values(spec)["commits"])
        await group.members.end_transaction(toxic_name(spec), commits=commits)

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return members.withheld(row, evidence)


FAULT: FaultKind = OpenTransaction()
