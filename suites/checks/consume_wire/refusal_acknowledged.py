"""# refusal-acknowledged

## What it does

Looks for members of KIP-848 that acknowledge a change of their partitions although the listener has just failed: its
onPartitionsAssigned or onPartitionsRevoked threw an exception, as the harness had asked the application to, and was
not called again before.

## Why it is bad

The application has not given up what the coordinator passes on, or has not prepared for what it gets. A member that
does not acknowledge is removed when its time for the rebalance is over, and its partitions go to one that works.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a difference. Java's member reconciles again, and calls the listener once more.

The first heartbeat after the exception counts that names other partitions than the one before. After the member has
joined again, or has left, nothing is judged.

## What it needs

The witness's frames, and the members' histories with the events of their listeners and the exceptions that
applications got. Clients whose callbacks cannot fail do not take part.

## References

CSM-NGP-08 (KIP-848, ``AbstractMembershipManager#maybeReconcile``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.model.anomaly import Anomaly, Sample
from harness.model.consumer_contract import (
    ConsumerError,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
)
from harness.model.contract import OpComplete
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.asked import unread_of_members
from suites.analysis.consuming.beats import OWNED, Beat, all_beats
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS

ACKNOWLEDGED = Anomaly(
    "refusal-acknowledged",
    "{count:change} of partitions acknowledged although the listener had failed",
    Level.SHOULD,
)
THROWS: Final = "listener_throws"
Called = PartitionsAssigned | PartitionsRevoked | PartitionsLost
#: What the callbacks tell, by the fault's numbers of them, and the number that it has by default.
EVENTS: Final[tuple[type[Called], ...]] = (PartitionsAssigned, PartitionsRevoked, PartitionsLost)
REVOKED: Final = 1
#: Within this time the application has got the exception of its listener from poll.
RAISED_NS: Final = 2_000 * NS_PER_MS


class Refusal(NamedTuple):
    """A call of the listener that failed, and the next acknowledgement, if it is of the same membership.

    ``is_called_again`` if the listener had returned from the same callback by then.
    """

    called: Called
    beat: Beat
    is_called_again: bool


def refusals(evidence: Evidence) -> Iterator[Refusal]:
    """Yield each failed call of a listener that was followed by an acknowledgement."""
    for row in evidence.faults:
        if row.spec.kind == THROWS and row.effective_ns is not None:
            for process, calls in _calls(evidence, row).items():
                for called in calls[: row.spec.params.get("times", 1)]:
                    beat = _acknowledgement(evidence, process, called.mono_ns)
                    if beat is not None and _is_raised(evidence, process, called):
                        at_ns = beat.now.request.arrived_ns
                        again = any(called.mono_ns < each.mono_ns < at_ns for each in calls)
                        yield Refusal(called, beat, again)


def _calls(evidence: Evidence, row: FaultRow) -> dict[str, list[Called]]:
    """Return process -> the calls of the callback that a fault lets fail, from when the application knew of it."""
    begin_ns, end_ns = row.effective_ns or (0, 0)
    asked = {
        str(event.producer): event.mono_ns
        for event in reversed(evidence.history)
        if isinstance(event, OpComplete) and event.op == "throw" and begin_ns <= event.mono_ns <= end_ns
    }
    kind = EVENTS[row.spec.params.get("callback", REVOKED)]
    return {
        process: [
            event
            for event in evidence.history
            if isinstance(event, kind) and event.producer == process and event.mono_ns > asked_ns
        ]
        for process, asked_ns in asked.items()
    }


def _acknowledgement(evidence: Evidence, process: str, since_ns: int) -> Beat | None:
    """Return the first change of partitions that a member acknowledges after a moment, unless it joins or leaves."""
    for beat in all_beats(evidence).get(process, ()):
        if beat.now.request.arrived_ns > since_ns:
            if beat.joins or beat.leaves:
                return None
            if OWNED in beat.now.member.said and frozenset(beat.now.request.offsets) != beat.known:
                return beat
    return None


def _is_raised(evidence: Evidence, process: str, called: Called) -> bool:
    """Return whether the application got an exception soon after the call."""
    return any(
        isinstance(event, ConsumerError)
        and event.producer == process
        and called.mono_ns <= event.mono_ns <= called.mono_ns + RAISED_NS
        for event in evidence.history
    )


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the acknowledgements."""
    broken = [each for each in refusals(evidence) if not each.is_called_again]
    if not broken:
        return []
    samples: list[Sample] = [
        {
            "member": each.beat.now.process,
            "failed_ns": each.called.mono_ns,
            "acknowledged_ns": each.beat.now.request.arrived_ns,
        }
        for each in broken
    ]
    found = ACKNOWLEDGED.found(len(broken), samples)
    doubt_if_unreadable(found, unread_of_members(evidence))
    return [found]


def _arises(evidence: Evidence) -> int:
    return sum(1 for _ in refusals(evidence))


CHECK = Check(
    name="refusal-acknowledged",
    summary="Members of KIP-848 that acknowledge a change although their listener has failed.",
    requirements=(Requirement("CSM-NGP-08", Level.SHOULD, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="failed_listener_is_forgiven",
    run=run,
    workloads=frozenset({"consume"}),
)
