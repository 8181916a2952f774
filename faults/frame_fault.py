"""What the kinds of fault share that act on single frames, at the witness: which frames, and that they were hit.

Toxiproxy sees bytes; the witness, behind it, sees frames, and holds back just those that a rule names. The rule counts
from the moment at which the fault begins. A frame that was acted on says so in its row.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.effects import frames
from faults.kind import BOTH_WORLDS, Fault, toxic_name
from harness.model.errors import UsageError
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec, FrameMatch
from harness.plugins.fault import LiveLane
from harness.simulated.lane import SimulatedLane
from harness.wire.apis import Api, api_name
from harness.witness.actions import Action

DIRECTIONS = ("request", "response")


class FrameFault(Fault):
    """The defaults: ``frames`` of the spec are meant; :meth:`action` is what a kind does with them."""

    worlds = BOTH_WORLDS
    of_frames = True
    shown_by = "frames were acted on, on connections that their client had not left"
    #: The directions in which the kind can act.
    directions: tuple[str, ...] = DIRECTIONS

    def action(self, spec: FaultSpec) -> Action:
        """What happens to a frame that is meant."""
        raise NotImplementedError

    def match(self, spec: FaultSpec) -> FrameMatch:
        """Which frames are meant. UsageError for none, for an unknown API, or for a direction it cannot act in."""
        match = spec.frames
        if match is None:
            raise UsageError(f"fault {self.name!r} needs to know which frames: give it 'frames'")
        names = [api_name(api) for api in Api]
        if match.api not in names:
            raise UsageError(
                f"fault {self.name!r}: there is no API {match.api!r}; some are Produce, Metadata"
            )
        if match.direction not in self.directions:
            meant = " or ".join(self.directions)
            raise UsageError(f"fault {self.name!r} acts on a {meant}, not on a {match.direction!r}")
        if match.first < 1 or match.count < 1:
            raise UsageError(f"fault {self.name!r}: first and count of its frames are at least 1")
        return match

    def check(self, spec: FaultSpec, world: str) -> None:
        """Check the parameters and the frames."""
        super().check(spec, world)
        self.match(spec)

    async def start(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Count, and act."""
        lane.witness.arm(toxic_name(spec), self.match(spec), self.action(spec), spec.brokers)

    async def stop(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Act no more; what is held goes on."""
        lane.witness.disarm(toxic_name(spec))

    def begin(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Count, and act."""
        lane.arm(toxic_name(spec), self.match(spec), self.action(spec), spec.brokers)

    def end(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Act no more; what is held goes on."""
        lane.disarm(toxic_name(spec))

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """The frames that were acted on; where the connection ended before that was done, it was not."""
        name, fate = toxic_name(row.spec), self.action(row.spec).fate
        return sum(1 for frame in frames if frame.fault == name and frame.fate is fate)

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return len(self.acted_on(row, evidence))

    def acted_on(self, row: FaultRow, evidence: Evidence) -> list[Frame]:
        """The frames that had the fate that the kind is for."""
        return frames.acted_on(row, evidence, toxic_name(row.spec), self.action(row.spec).fate)
