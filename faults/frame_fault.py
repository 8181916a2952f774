"""The base class of faults that act on single frames, at the witness.

Toxiproxy sees bytes. The witness, which sits after it, sees frames, and acts only on those that a rule selects. The
rule counts from the moment at which the fault begins. The row of a frame records which fault acted on it.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.effects import frames
from harness.model.errors import UsageError
from harness.model.evidence import Evidence
from harness.model.mode import BOTH_MODES, Mode
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec, FrameMatch
from harness.plugins.fault import Fault, LiveLane, toxic_name
from harness.simulated.lane import SimulatedLane
from harness.wire.apis import Api, api_name
from harness.witness.actions import Action

DIRECTIONS = ("request", "response")


class FrameFault(Fault):
    """By default the ``frames`` of the spec select the frames; :meth:`action` says what a kind does with them."""

    modes = BOTH_MODES
    of_frames = True
    shown_by = "frames were acted on, on connections that their client had not left"
    #: The directions in which the kind can act.
    directions: tuple[str, ...] = DIRECTIONS

    def action(self, spec: FaultSpec) -> Action:
        """Return what happens to a selected frame."""
        raise NotImplementedError

    def match(self, spec: FaultSpec) -> FrameMatch:
        """Return which frames are selected. Raise UsageError for none, an unknown API or an unsupported direction."""
        match = spec.frames
        if match is None:
            raise UsageError(
                "fault-without-frames",
                "fault {fault!r} needs 'frames', which select the frames",
                fault=self.name,
            )
        names = [api_name(api) for api in Api]
        if match.api not in names:
            raise UsageError(
                "frames-api-unknown",
                "fault {fault!r}: unknown API {api!r}; examples are Produce, Metadata",
                fault=self.name,
                api=match.api,
            )
        if match.direction not in self.directions:
            meant = " or ".join(self.directions)
            raise UsageError(
                "frames-direction",
                "fault {fault!r} acts on a {meant}, not on a {direction!r}",
                fault=self.name,
                meant=meant,
                direction=match.direction,
            )
        if match.first < 1 or match.count < 1:
            raise UsageError(
                "frames-first-and-count",
                "fault {fault!r}: first and count of its frames are at least 1",
                fault=self.name,
            )
        return match

    def check(self, spec: FaultSpec, mode: Mode) -> None:
        """Check the parameters and the frames."""
        super().check(spec, mode)
        self.match(spec)

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Count frames, and act on the selected ones."""
        lane.witness.arm(toxic_name(spec), self.match(spec), self.action(spec), spec.brokers)

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Stop acting on frames, and release those that are held."""
        lane.witness.disarm(toxic_name(spec))

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Count frames, and act on the selected ones."""
        lane.arm(toxic_name(spec), self.match(spec), self.action(spec), spec.brokers)

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Stop acting on frames, and release those that are held."""
        lane.disarm(toxic_name(spec))

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the frames that were acted on. A frame whose connection ended before that does not count."""
        name, disposition = toxic_name(row.spec), self.action(row.spec).disposition
        return sum(1 for frame in frames if frame.fault == name and frame.disposition is disposition)

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return len(self.acted_on(row, evidence))

    def acted_on(self, row: FaultRow, evidence: Evidence) -> list[Frame]:
        """Return the frames that had the fate that the kind is for."""
        return frames.acted_on(row, evidence, toxic_name(row.spec), self.action(row.spec).disposition)
