"""The broker answers with an error code.

## What it does
The next ``count`` responses of the API ``api`` carry the error ``code``: for every partition that they cover or, for
Produce, for ``partition`` alone. A Fetch response with the error of a session carries it as a whole. One without
records has no place for another error; it passes unchanged, and counts. An OffsetFetch response carries
UNSTABLE_OFFSET_COMMIT for its partitions alone, in versions whose requests can ask for stable offsets (7 and later).
The request is not executed, unless ``after_append`` is 1: then Produce has appended the batch first. Responses that are
left over when the fault ends are no longer changed.

## What it probes
How the client handles each code: whether it retries with fresh metadata or a new producer id, fails the record, or
fails itself; and what it reports for a record that is in the log all the same.

## How it is made
In live mode the witness puts the code into the broker's response, in the version that the client uses. The broker has
executed the request, so ``after_append`` has to be 1 for Produce. In simulated mode the scripted brokers set the code
themselves.

## Where it is seen
At the witness: a hit is a response of that API with that code during the fault, including one that the broker gave for
its own reasons.

## What it cannot do
It cannot change the state of the broker: after an injected NOT_LEADER_OR_FOLLOWER the broker still leads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kio.schema.errors import ErrorCode

from faults.broker_fault import WitnessFault, responses
from faults.effects import frames
from harness.model.errors import UsageError
from harness.model.evidence import Evidence
from harness.model.mode import Mode
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec, FrameMatch
from harness.plugins.fault import FaultKind, FaultParam, LiveLane, toxic_name
from harness.simulated.lane import SimulatedLane
from harness.wire.apis import Api, api_name
from harness.witness.actions import changed
from harness.witness.rewrites import Change, error_code, fetch_error, unstable_offsets


class ErrorResponse(WitnessFault):
    """The fault kind ``error_response``."""

    name = "error_response"
    summary = "answers carry an error code, whether or not the request was executed"
    seen_by = ("witness", "broker")
    shown_by = "answers carried the code that the fault set"
    params: tuple[FaultParam, ...] = (
        FaultParam("api", Api.PRODUCE, 0, 100, "the key of the API that fails"),
        FaultParam("code", ErrorCode.not_leader_or_follower, -1, max(ErrorCode), "the error code"),
        FaultParam("count", 1, 1, 1_000_000, "how many answers carry it"),
        FaultParam("partition", -1, -1, 2**31 - 1, "the one partition that fails, -1 for all"),
        FaultParam("after_append", 0, 0, 1, "1 if Produce appends before it fails"),
    )

    def check(self, spec: FaultSpec, mode: Mode) -> None:
        """Check the parameters.

        Raise UsageError if ``partition`` is set for an API other than Produce, or if a real broker would have to skip
        the append.
        """
        values = self.values(spec)
        if values["partition"] != -1 and values["api"] != Api.PRODUCE:
            raise UsageError(
                "error-response-partition",
                "fault {fault!r} can fail a single partition of Produce only: leave out partition, or set api "
                "to {produce}",
                fault=self.name,
                produce=int(Api.PRODUCE),
            )
        if mode == Mode.LIVE and values["api"] == Api.PRODUCE and not values["after_append"]:
            raise UsageError(
                "error-response-before-append",
                "a real broker appends the batch before fault {fault!r}: set after_append to 1",
                fault=self.name,
            )

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Inject the error."""
        values = self.values(spec)
        partition = None if values["partition"] == -1 else values["partition"]
        match = FrameMatch(api_name(values["api"]), "response", count=values["count"], partition=partition)
        lane.witness.arm(toxic_name(spec), match, changed(_change(values, partition)), spec.brokers)

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Stop injecting the error."""
        lane.witness.disarm(toxic_name(spec))

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Inject the error."""
        self._inject(spec, lane, self.values(spec)["count"])

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Stop injecting the error."""
        self._inject(spec, lane, 0)

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the responses with the code."""
        values = self.values(row.spec)
        answers = responses(row, frames, values["api"])
        return sum(1 for frame in answers if values["code"] in frame.error_codes)

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        values = self.values(row.spec)
        return sum(
            frame.api_key == values["api"] and values["code"] in frame.error_codes
            for frame in frames.injected(row, evidence, toxic_name(row.spec))
        )

    def _inject(self, spec: FaultSpec, lane: SimulatedLane, count: int) -> None:
        values = self.values(spec)
        lane.cluster.inject_error(
            values["api"],
            values["code"],
            count,
            None if values["partition"] == -1 else values["partition"],
            bool(values["after_append"]),
            toxic_name(spec),
        )


def _change(values: Mapping[str, int], partition: int | None) -> Change:
    """Return the change that puts the code where a broker puts it."""
    api, code = values["api"], values["code"]
    if api == Api.FETCH:
        return fetch_error(code)
    if api == Api.OFFSET_FETCH and code == ErrorCode.unstable_offset_commit:
        return unstable_offsets(code)
    return error_code(code, partition)


FAULT: FaultKind = ErrorResponse()
