"""A member's application commits what it has processed, and waits for it.

## What it does
When the fault begins, one member commits synchronously ``times`` times, between two turns of its poll loop: the offsets
that it has processed.

## What it probes
An application that commits without waiting does this before it hands over or ends, so that no commit is in progress
afterwards. Results of earlier commits must have come by then, and none may set the offset back.

## How it is made
The harness sends ``commit`` to the member.

## Where it is seen
The member reports the result. The witness sees the OffsetCommit request.

## What it cannot do
It commits nothing if the member has processed no record since it got its partitions. A client that pushes records may
still work on some of them.
"""

from __future__ import annotations

from faults.effects import members
from faults.member_fault import MEMBER, Group, MemberFault
from harness.model.consumer_contract import Commit
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, FaultParam


class CommitNow(MemberFault):
    """The fault kind ``commit_now``."""

    name = "commit_now"
    summary = "a member's application commits, and waits for the result"
    shown_by = "synchronous commits ended"
    params: tuple[FaultParam, ...] = (MEMBER, FaultParam("times", 1, 1, 100, "how often, one after another"))

    async def act(self, spec: FaultSpec, group: Group, process: str) -> None:
        """Commit. A commit has no end."""
        for _ in range(self.values(spec)["times"]):
            await group.members.call(process, Commit(0))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return members.committed(row, evidence)


FAULT: FaultKind = CommitNow()
