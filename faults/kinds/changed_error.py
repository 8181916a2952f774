"""Single responses carry another error code.

## What it does
Each selected response carries the error ``code``, for every item that it covers. If the responses are selected by an
error, only the items with that error get the new code. What the broker did remains done.

## What it probes
How a client handles an error that today's brokers no longer return. A response that already was an error stays
truthful: what was refused under one code is refused under another.

## How it is made
The witness changes the response in the version that the client uses.

## Where it is seen
At the witness, the row of the response says that it was changed, and by which fault. A hit is such a row.

## What it cannot do
It cannot undo what was done: a batch that was appended is in the log, whatever its response says. For such responses
``error_response`` is the better fault. A response that already carries exactly this code passes unchanged and is not a
hit.
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
    summary = "single answers carry another error code"
    seen_by = ("witness",)
    directions = ("response",)
    params: tuple[FaultParam, ...] = (
        FaultParam("code", ErrorCode.unknown_producer_id, -1, max(ErrorCode), "the error code"),
    )

    def action(self, spec: FaultSpec) -> Action:
        """Return the action that replaces the error code."""
        was = None if spec.frames is None else spec.frames.error_code
        return changed(error_code(self.values(spec)["code"], was=was))


FAULT: FaultKind = ChangedError()
