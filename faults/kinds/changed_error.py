"""Single answers say another error code.

## What it does
Each of the answers that are meant says the error ``code``: of all that it speaks about, or where the answers are meant
by an error, of what had that error. What the broker did is done.

## What it probes
What a client makes of an error that today's brokers no longer give. An answer that was an error already stays as true
as it was: what was refused under one name is refused under another.

## How it is made
By the witness, which changes the answer in the version that the client speaks.

## Where it is seen
At the witness the row of the answer says that it was changed, and by which fault: a hit is such a row.

## What it cannot do
Undo what was done: a batch that was appended is in the log, whatever its answer says. Such answers are better left to
``error_response``. Hit an answer that says just that already: it passes as it came.
"""

from __future__ import annotations

from kio.schema.errors import ErrorCode

from faults.frame_fault import FrameFault
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, FaultParam
from harness.witness.actions import Action, changed
from harness.witness.rewrites import error_code


class ChangedError(FrameFault):
    """The fault kind ``changed_error``."""

    name = "changed_error"
    summary = "single answers say another error code"
    directions = ("response",)
    params: tuple[FaultParam, ...] = (
        FaultParam("code", ErrorCode.unknown_producer_id, -1, max(ErrorCode), "the error code"),
    )

    def action(self, spec: FaultSpec) -> Action:
        """Put the code in its place."""
        was = None if spec.frames is None else spec.frames.error_code
        return changed(error_code(self.values(spec)["code"], was=was))


FAULT: FaultKind = ChangedError()
