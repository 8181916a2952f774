"""Every answer arrives later, while requests are on time.

## What it does
While the fault lasts, whatever a broker sends reaches the client ``delay_ms`` later. When it ends, what is still on
the way arrives at once.

## What it probes
A client that gives up early, or that takes a late answer for the answer to a later question.

## How it is made
A ``latency`` toxic downstream, with a delay and jitter 0.

## Where it is seen
A hit is a response that passed the witness during the fault. The effect is an operation whose result came at least
``delay_ms`` after the last response before it had passed the witness.

## What it cannot do
Delay one answer and not the next.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from kafka_trial.api import (
    BOTH_MODES,
    NS_PER_MS,
    Evidence,
    Fault,
    FaultKind,
    FaultParam,
    FaultRow,
    FaultSpec,
    Frame,
    FrameKind,
    LiveLane,
    SimulatedLane,
    passed,
    toxic_name,
)


class LateAnswers(Fault):
    """The fault kind ``late_answers``."""

    name = "late_answers"
    summary = "answers arrive later, in order, none lost"
    seen_by = ("client", "witness")
    shown_by = "operations had their result as late as the added delay"
    modes = BOTH_MODES
    params: tuple[FaultParam, ...] = (
        FaultParam("delay_ms", 200, 1, 60_000, "how much later answers arrive"),
    )

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Add the delay."""
        await lane.add_toxic(spec, "latency", "downstream", latency=self.values(spec)["delay_ms"], jitter=0)

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Remove the delay."""
        await lane.remove_toxic(spec, "downstream")

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Add the delay."""
        for proxy in lane.on(spec):
            proxy.down.delay(toxic_name(spec), self.values(spec)["delay_ms"] * NS_PER_MS)

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Remove the delay."""
        for proxy in lane.on(spec):
            proxy.down.restore(toxic_name(spec))

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Return the number of responses that were delayed."""
        return sum(1 for _ in passed(row, frames, [FrameKind.RESPONSE]))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """Return the number of late results. See ``shown_by``."""
        delay_ns = self.values(row.spec)["delay_ms"] * NS_PER_MS
        delayed = sorted(frame.t_ns for frame in passed(row, evidence.frames, [FrameKind.RESPONSE]))
        answers = sorted(frame.t_ns for frame in evidence.frames if frame.kind is FrameKind.RESPONSE)
        return sum(
            _is_late(complete_ns, answers, delayed, delay_ns)
            for each in evidence.acknowledged.values()
            if (complete_ns := each.complete_ns) is not None
        )


def _is_late(complete_ns: int, answers: Sequence[int], delayed: Sequence[int], delay_ns: int) -> bool:
    """Return whether the last answer before a result was a delayed one, and as long ago as the delay."""
    at = bisect_right(answers, complete_ns)
    return at > 0 and answers[at - 1] in delayed and complete_ns - answers[at - 1] >= delay_ns


FAULT: FaultKind = LateAnswers()
