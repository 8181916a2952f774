"""# stays-unpolled

## What it does

Looks at members of KIP-848 whose application worked on one turn for longer than ``max.poll.interval.ms``: whether they
leave (``stays-unpolled``), do not come back before the application polls (``back-unpolled``), and then join again
(``goes-on-after-leaving``, ``not-back``).

## Why it is bad

Heartbeats do not show whether the application works. Without a limit, a hung application keeps its partitions forever.
A member that is back before its application polls has the same partitions as before, and no process reads them.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a difference. Java's member leaves with epoch -1, or with -2 if it is static, and
  joins at the next poll.

A turn counts if it was a second longer than the limit, the process was not stopped or asked to close, and no fault
acted on the network or the brokers. The member must have been in the group: its last heartbeat before the limit was
accepted.

## What it needs

The witness's frames, and the members' histories. Clients that cannot be given the setting do not take part. If
something stalled meanwhile, the trial is inconclusive.

## References

CSM-NGP-07 (KIP-848, ``AbstractHeartbeatRequestManager#poll``, ``AbstractMembershipManager#maybeRejoinStaleMember``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from harness.judging.availability import Span
from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.asked import unread_of_members
from suites.analysis.consuming.beats import Beat, all_beats
from suites.analysis.consuming.lives import Life, lives
from suites.analysis.consuming.timing import MAX_POLL, SLACK_NS, notice_ns, setting_ms
from suites.analysis.consuming.unaware import during_cut
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS

STAYS = Anomaly(
    "stays-unpolled",
    "{count:turn} beyond max.poll.interval.ms, in which the member did not leave its group",
    Level.SHOULD,
)
BACK = Anomaly(
    "back-unpolled",
    "{count:turn} beyond max.poll.interval.ms, in which the member joined again",
    Level.SHOULD,
)
GOES_ON = Anomaly(
    "goes-on-after-leaving",
    "{count:turn} beyond max.poll.interval.ms, after which the member went on with an epoch",
    Level.SHOULD,
)
NOT_BACK = Anomaly(
    "not-back",
    "{count:turn} beyond max.poll.interval.ms, after which the member did not join again",
    Level.SHOULD,
)


class LongTurn(NamedTuple):
    """A turn beyond the limit, the heartbeat by which the member left meanwhile, and the next one after that."""

    life: Life
    turn: Span
    left: Beat | None
    next: Beat | None

    @property
    def waited_ns(self) -> int:
        """How long the process could have polled again, before it was asked to close or ended."""
        until_ns = self.life.end_ns if self.life.closing_ns is None else self.life.closing_ns
        return until_ns - self.turn.end_ns


def long_turns(evidence: Evidence) -> Iterator[LongTurn]:
    """Yield the turns that are judged."""
    if MAX_POLL in evidence.record.not_set:
        return
    limit_ns = setting_ms(evidence, MAX_POLL) * NS_PER_MS + SLACK_NS
    for process, beats in all_beats(evidence).items():
        life = lives(evidence)[process]
        for turn in life.turns:
            due = Span(turn.begin_ns, turn.begin_ns + limit_ns)
            if due.end_ns < turn.end_ns and _is_member(beats, due) and _is_calm(evidence, life, due):
                later = [each for each in beats if _arrived(each) > turn.begin_ns]
                left = next((each for each in later if each.leaves and _arrived(each) <= turn.end_ns), None)
                after = [each for each in later if left is not None and _arrived(each) > _arrived(left)]
                yield LongTurn(life, turn, left, after[0] if after else None)


def _arrived(beat: Beat) -> int:
    return beat.now.request.arrived_ns


def _is_member(beats: list[Beat], due: Span) -> bool:
    """Return whether the client took itself for a member when the turn began, and was told nothing else until then."""
    before = [beat for beat in beats if _arrived(beat) <= due.begin_ns]
    meanwhile = [beat for beat in beats if due.begin_ns < _arrived(beat) <= due.end_ns and not beat.leaves]
    return (
        bool(before) and not before[-1].leaves and not any(beat.now.code for beat in (before[-1], *meanwhile))
    )


@grants("could-not-leave")
def _is_calm(evidence: Evidence, life: Life, due: Span) -> bool:
    """Return whether nothing else may have decided about the member until it was due to leave."""
    is_stopped = any(each.overlap_ns(*due) for each in life.frozen)
    is_closing = life.closing_ns is not None and life.closing_ns <= due.end_ns
    return not (is_stopped or is_closing or during_cut(evidence, due))


def broken(evidence: Evidence, each: LongTurn) -> Anomaly | None:
    """Return what a member did not do because of a long turn."""
    if each.left is None:
        return STAYS
    if each.next is None:
        return NOT_BACK if each.waited_ns > notice_ns(evidence) else None
    if each.next.leaves:
        return None
    if not each.next.joins:
        return GOES_ON
    return BACK if _arrived(each.next) < each.turn.end_ns else None


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind. Inconclusive if something stalled meanwhile."""
    cases: dict[Anomaly, list[LongTurn]] = {}
    for each in long_turns(evidence):
        if (anomaly := broken(evidence, each)) is not None:
            cases.setdefault(anomaly, []).append(each)
    found = []
    for anomaly, turns in cases.items():
        finding = anomaly.found(len(turns), map(_sample, turns))
        doubt_if_unreadable(finding, unread_of_members(evidence))
        for each in turns:
            doubt_if_stalled(evidence, finding, *each.turn)
        found.append(finding)
    return found


def _sample(each: LongTurn) -> Sample:
    return {
        "member": each.life.process,
        "polled_ns": each.turn.begin_ns,
        "took_ms": (each.turn.end_ns - each.turn.begin_ns) // NS_PER_MS,
    }


def _arises(evidence: Evidence) -> int:
    return sum(1 for _ in long_turns(evidence))


CHECK = Check(
    name="stays-unpolled",
    summary="Members of KIP-848 that stay in their group although their application does not poll.",
    requirements=(Requirement("CSM-NGP-07", Level.SHOULD, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="member_of_kip_848_stays_without_polls",
    run=run,
    workloads=frozenset({"consume"}),
)
