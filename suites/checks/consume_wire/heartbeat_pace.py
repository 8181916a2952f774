"""# heartbeat-pace

## What it does

Looks for heartbeats of KIP-848 (ConsumerGroupHeartbeat) that their member sends at its own pace: one while the one
before is outstanding (``heartbeats-overlap``), and several in a row in another interval than the coordinator's
(``own-interval``).

## Why it is bad

The coordinator decides how often each member of its groups asks. A member that asks more often takes the share of
others, and one that asks less often learns late of what it must give up, so the others wait, and may lose its session.
Of two heartbeats in flight, the second has an epoch and partitions that the answer to the first makes outdated, for
which the coordinator may fence it.

## How it is judged per guarantee

- **at-least-once, at-most-once**: forbidden.

A heartbeat overlaps if it arrived on the same connection before the answer to the one before had passed. Not judged: a
member that leaves, which need not wait, and the next join after it; and an answer that took so long that the client
may have given it up.

An interval is wrong if three heartbeats in a row that only say that the member lives came in less than half of the
interval that the answers named, or in more than twice of it and half a second. Only heartbeats on one connection count
after an answer without an error or an assignment, without other errors meanwhile, and not while a fault acted on the
network or the brokers, or the process was stopped.

## What it needs

The witness's frames, and the members' histories. If something stalled meanwhile, the trial is inconclusive.

## References

CSM-NGP-02 (KIP-848, ``AbstractHeartbeatRequestManager#poll``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.judging.availability import Span
from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.asked import of_group, unread_of_members
from suites.analysis.consuming.beats import Beat, all_beats, overlaps
from suites.analysis.consuming.lives import Life, lives
from suites.analysis.consuming.unaware import during_cut
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS
from suites.analysis.way import SLACK_NS

OVERLAP = Anomaly("heartbeats-overlap", "{count:heartbeat} sent while the one before was outstanding")
OWN = Anomaly(
    "own-interval",
    "{count:heartbeat} in a row in another interval than the coordinator's: {gap_ms} instead of {interval_ms} ms",
)
#: Three intervals in a row are a member's habit. One alone may be chance.
TIMES: Final = 3


class Gap(NamedTuple):
    """The time between two heartbeats that only say that the member lives, and what it should have been."""

    process: str
    span: Span
    interval_ns: int

    @property
    def took_ns(self) -> int:
        """How long it was."""
        return self.span.end_ns - self.span.begin_ns

    @property
    def is_short(self) -> bool:
        """True if the member did not wait."""
        return self.took_ns < self.interval_ns // 2

    @property
    def is_long(self) -> bool:
        """True if the member waited for something else."""
        return self.took_ns > 2 * self.interval_ns + SLACK_NS


def overlapping(evidence: Evidence) -> Iterator[Beat]:
    """Yield each heartbeat that was sent while the one before was outstanding, and need not have been."""
    for beats in all_beats(evidence).values():
        yield from (beat for beat in beats if overlaps(evidence, beat) and not _may_hurry(beat))


@grants("leaves-at-once")
def _may_hurry(beat: Beat) -> bool:
    """Return whether a heartbeat need not wait: it leaves the group, or it joins after one that left."""
    return beat.leaves or (beat.before is not None and (beat.before.member.epoch or 0) < 0)


def rows(evidence: Evidence) -> Iterator[list[Gap]]:
    """Yield each ``TIMES`` gaps that followed one another."""
    requests = of_group(evidence)
    for process, beats in all_beats(evidence).items():
        errors_ns = [each.answer.t_ns for each in requests[process] if each.answer is not None and each.code]
        row: list[Gap] = []
        for beat in beats:
            gap = _gap(evidence, lives(evidence)[process], errors_ns, beat)
            row = [*row, gap][-TIMES:] if gap is not None else []
            if len(row) == TIMES:
                yield row


@grants("pace-disturbed")
def _gap(evidence: Evidence, life: Life, errors_ns: list[int], beat: Beat) -> Gap | None:
    """Return the gap before a heartbeat, or None if something else may have decided about it."""
    before, now = beat.before, beat.now
    if before is None or before.code != 0 or before.told.said or not beat.is_steady:
        return None
    interval_ms = before.told.heartbeat_interval_ms
    span = Span(before.request.arrived_ns, now.request.arrived_ns)
    is_stopped = any(each.overlap_ns(*span) for each in life.frozen)
    is_refused = any(span.begin_ns <= at_ns <= span.end_ns for at_ns in errors_ns)
    is_elsewhere = before.request.conn != now.request.conn
    if not interval_ms or is_elsewhere or is_stopped or is_refused or during_cut(evidence, span):
        return None
    return Gap(now.process, span, interval_ms * NS_PER_MS)


def own_intervals(evidence: Evidence) -> Iterator[list[Gap]]:
    """Yield the gaps of members that do not keep the coordinator's interval."""
    for row in rows(evidence):
        if all(gap.is_short for gap in row) or all(gap.is_long for gap in row):
            yield row


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind. Inconclusive if a stall may be the cause of other intervals."""
    found = []
    if overlap := list(overlapping(evidence)):
        found.append(OVERLAP.found(len(overlap), map(_sample, overlap)))
    if own := list(own_intervals(evidence)):
        worst = max((gap for row in own for gap in row), key=lambda gap: abs(gap.took_ns - gap.interval_ns))
        found.append(
            OWN.found(
                len(own) + TIMES - 1,
                (_sample_of_gap(row[-1]) for row in own),
                gap_ms=worst.took_ns // NS_PER_MS,
                interval_ms=worst.interval_ns // NS_PER_MS,
            )
        )
        for row in own:
            doubt_if_stalled(evidence, found[-1], row[0].span.begin_ns, row[-1].span.end_ns)
    for each in found:
        doubt_if_unreadable(each, unread_of_members(evidence))
    return found


def _sample(beat: Beat) -> Sample:
    return {
        "member": beat.now.process,
        "epoch": beat.now.member.epoch,
        "at_ns": beat.now.request.arrived_ns,
        "before_ns": beat.before.request.arrived_ns if beat.before is not None else None,
    }


def _sample_of_gap(gap: Gap) -> Sample:
    return {"member": gap.process, "at_ns": gap.span.end_ns, "gap_ms": gap.took_ns // NS_PER_MS}


def _arises(evidence: Evidence) -> int:
    """Count the rows of intervals, and the joins for whose answers a member had to wait."""
    waits = (
        beat.joins
        and beat.now.answer is not None
        and beat.now.answer.t_ns - beat.now.request.arrived_ns >= SLACK_NS
        for beats in all_beats(evidence).values()
        for beat in beats
    )
    return sum(1 for _ in rows(evidence)) + sum(waits)


CHECK = Check(
    name="heartbeat-pace",
    summary="Heartbeats of KIP-848 in another interval than the broker's, or before the last one was answered.",
    requirements=(Requirement("CSM-NGP-02", Level.MUST, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="own_heartbeat_interval",
    run=run,
    workloads=frozenset({"consume"}),
)
