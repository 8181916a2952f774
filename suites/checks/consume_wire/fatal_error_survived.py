"""# fatal-error-survived

## What it does

Looks at members of KIP-848 whose heartbeat was answered with an error that no repetition can heal: no right to the
group, an invalid request, a full group, an unknown assignor, an instance id in use or fenced, a wrong version or a
wrong regular expression. The member sends another heartbeat (``fatal-error-survived``), or the application gets no
exception from any call (``fatal-error-not-told``).

## Why it is bad

The application believes that it is a member, and gets no records. No operator can repair what no program reports.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a difference. Java's consumer ends the membership, and each ``poll()`` raises the
  error.

A heartbeat counts if the client had certainly read the answer, unless it leaves. An exception counts whatever it says,
if the application got it within five seconds; a process that ended or closed before that is not judged.

## What it needs

The witness's frames, and the members' histories with the exceptions that applications got. If something stalled
meanwhile, the trial is inconclusive.

## References

CSM-NGP-09 (``AbstractHeartbeatRequestManager#onErrorResponse``, ``ConsumerHeartbeatRequestManager``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.model.anomaly import Anomaly, Sample
from harness.model.consumer_contract import ConsumerError
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.wire.error_table import BY_NAME
from suites.analysis.consuming.asked import Asked, unread_of_members
from suites.analysis.consuming.beats import Beat, all_beats, is_answered
from suites.analysis.consuming.lives import lives
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS

SURVIVED = Anomaly(
    "fatal-error-survived", "{count:heartbeat} after an error that no repetition can heal", Level.SHOULD
)
NOT_TOLD = Anomaly(
    "fatal-error-not-told",
    "{count:error} that no repetition can heal, of which the application was not told",
    Level.SHOULD,
)
FATAL: Final = frozenset(
    BY_NAME[name].code
    for name in (
        "GROUP_AUTHORIZATION_FAILED",
        "INVALID_REQUEST",
        "GROUP_MAX_SIZE_REACHED",
        "UNSUPPORTED_ASSIGNOR",
        "UNRELEASED_INSTANCE_ID",
        "FENCED_INSTANCE_ID",
        "UNSUPPORTED_VERSION",
        "INVALID_REGULAR_EXPRESSION",
    )
)
#: For how long a client may keep an error to itself.
TOLD_NS: Final = 5_000 * NS_PER_MS


class End(NamedTuple):
    """A heartbeat with a fatal answer, and the next one of its process."""

    told: Asked
    next: Beat | None


def ends(evidence: Evidence) -> Iterator[End]:
    """Yield each fatal answer to a member that did not leave."""
    for beats in all_beats(evidence).values():
        for at, beat in enumerate(beats):
            if beat.now.code in FATAL and not beat.leaves:
                yield End(beat.now, beats[at + 1] if at + 1 < len(beats) else None)


def is_survived(evidence: Evidence, end: End) -> bool:
    """Return whether the member went on, although its client had certainly read the answer."""
    return end.next is not None and not end.next.leaves and is_answered(evidence, end.next)


@grants("ended-before-it-was-told")
def is_kept_back(evidence: Evidence, end: End) -> bool:
    """Return whether the application was not told in time."""
    reached_ns, life = end.told.reached_ns, lives(evidence)[end.told.process]
    if reached_ns is None or end.told.answer is None:
        return False
    until_ns = life.end_ns if life.closing_ns is None else life.closing_ns
    in_time = (
        isinstance(event, ConsumerError)
        and event.producer == life.process
        and end.told.answer.t_ns <= event.mono_ns <= reached_ns + TOLD_NS
        for event in evidence.history
    )
    busy = (turn.end_ns - turn.begin_ns for turn in life.turns if turn.end_ns >= reached_ns)
    return until_ns > reached_ns + TOLD_NS + max(busy, default=0) and not any(in_time)


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind. Inconclusive if a stall may have kept the error back."""
    found = []
    if survived := [end for end in ends(evidence) if is_survived(evidence, end)]:
        found.append(SURVIVED.found(len(survived), map(_sample, survived)))
    if kept := [end for end in ends(evidence) if is_kept_back(evidence, end)]:
        found.append(NOT_TOLD.found(len(kept), map(_sample, kept)))
        for end in kept:
            at_ns = end.told.request.arrived_ns
            doubt_if_stalled(evidence, found[-1], at_ns, at_ns + TOLD_NS)
    for each in found:
        doubt_if_unreadable(each, unread_of_members(evidence))
    return found


def _sample(end: End) -> Sample:
    return {
        "member": end.told.process,
        "code": end.told.code,
        "at_ns": end.told.request.arrived_ns,
        "next_ns": end.next.now.request.arrived_ns if end.next is not None else None,
    }


def _arises(evidence: Evidence) -> int:
    return sum(1 for _ in ends(evidence))


CHECK = Check(
    name="fatal-error-survived",
    summary="Members of KIP-848 that go on after a fatal error, or do not tell of it.",
    requirements=(Requirement("CSM-NGP-09", Level.SHOULD, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="no_error_ends_the_membership",
    run=run,
    workloads=frozenset({"consume"}),
)
