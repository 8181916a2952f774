"""Automatic commits that cover too much, come too rarely or too often, or hold what the member cannot know."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec.structs import replace as changed

from harness.judging.availability import Span
from harness.model.consumer_contract import ConsumerError
from harness.model.consumer_rows import OffsetPart
from harness.model.evidence import Evidence
from harness.model.rows import Frame, FrameKind
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from harness.workloads.consume import accounting
from suites.analysis.consuming.automatic import bound_ns, covering, interval_ns, is_free
from suites.analysis.consuming.committing import ELSEWHERE, Sent, automatic, is_automatic, sent
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.ownership import ownerships
from suites.analysis.consuming.timing import SLACK_NS
from suites.analysis.way import SLACK_NS as WAY_NS
from suites.checks.consume_wire.auto_commit_failure import has_other_trouble
from suites.checks.consume_wire.auto_commit_pace import MANY, due, given_up, is_able, is_steady
from suites.checks.consume_wire.commit_without_position import doubts, knows
from suites.perturbations.consuming.deliveries import ALO
from suites.perturbations.consuming.edits import wall_ns, with_added
from suites.perturbations.consuming.kinds import CONSUME
from suites.perturbations.edits import with_frames
from suites.perturbations.membership.exchanges import refused, with_edits, without
from suites.perturbations.perturbation import channels

FRAMES = channels("frames")
MOVED = ELSEWHERE[-1]
#: How far apart commits are that come too often.
APART_NS = 20 * NS_PER_MS


def _holding(evidence: Evidence, commit: Sent, partition: int, offset: int) -> Evidence:
    """Return the evidence in which a commit holds this offset of a partition."""
    request = commit.asked.request
    others = [at for at in request.offsets if at.partition != partition]
    mine = OffsetPart(evidence.record.topic, partition, offset)
    return with_edits(evidence, {id(request): changed(request, offsets=(*others, mine))})


def _while_reading(evidence: Evidence) -> Sequence[tuple[int, int, int]]:
    """Return the number of a commit, and a record's place, which its process had taken and not done with."""
    found = []
    got = accounting.deliveries(evidence)
    first: dict[tuple[int, int], int] = {}
    for each in got:
        place = each.partition, each.offset
        first[place] = min(first.get(place, each.processed_ns), each.processed_ns)
    for at, commit in enumerate(automatic(evidence)):
        for each in got:
            is_next = commit.arrived_ns < each.processed_ns < commit.arrived_ns + SLACK_NS
            is_own = each.member == commit.asked.process and each.partition in commit.offsets
            if is_next and is_own and first[each.partition, each.offset] == each.processed_ns:
                found.append((at, each.partition, each.offset))
    return found


def _too_much(evidence: Evidence, place: tuple[int, int, int]) -> Evidence:
    at, partition, offset = place
    return _holding(evidence, automatic(evidence)[at], partition, offset + 1)


def _due(evidence: Evidence) -> Sequence[int]:
    return range(sum(1 for _ in due(evidence)))


def _forgotten(evidence: Evidence, at: int) -> Evidence:
    """The member commits no part of a turn in time."""
    each, span = list(due(evidence))[at]
    return without(evidence, (commit.asked for commit in covering(evidence, each, span.end_ns)))


def _given_up(evidence: Evidence) -> Sequence[int]:
    return range(sum(1 for _ in given_up(evidence)))


def _left_behind(evidence: Evidence, at: int) -> Evidence:
    each, span = list(given_up(evidence))[at]
    return without(evidence, (commit.asked for commit in covering(evidence, each, span.end_ns)))


def _steady(evidence: Evidence) -> Sequence[tuple[str, int]]:
    """Return process and number of the commits around which it has only its interval as a reason."""
    if interval_ns(evidence) is None:
        return []
    return [
        (process, at)
        for process, made in sent(evidence).items()
        for at, each in enumerate(made)
        if each.offsets
        and is_steady(evidence, process, [each], Span(each.arrived_ns - SLACK_NS, each.arrived_ns + SLACK_NS))
    ]


def _again_and_again(evidence: Evidence, place: tuple[str, int]) -> Evidence:
    """The member makes the same commit several times, on another connection."""
    process, at = place
    each = sent(evidence)[process][at]
    return _with_copies(evidence, each, [each.arrived_ns + number * APART_NS for number in range(1, MANY)])


def _with_copies(evidence: Evidence, each: Sent, moments_ns: Sequence[int]) -> Evidence:
    """Return the evidence with a commit made again at these moments, on another connection."""
    request = each.asked.request
    conn = 1 + max(frame.conn for frame in evidence.frames)
    rows = [*evidence.frames, Frame(moments_ns[0] - 1, request.lane, request.broker, conn, FrameKind.OPEN)]
    for number, at_ns in enumerate(moments_ns):
        for frame in (request, each.asked.answer):
            if frame is not None:
                moved_ns = frame.t_ns + at_ns - each.arrived_ns
                rows.append(changed(frame, conn=conn, t_ns=moved_ns, correlation_id=number, received_ns=None))
    ended_ns = max(frame.t_ns for frame in rows if frame.conn == conn) + 1
    rows.append(Frame(ended_ns, request.lane, request.broker, conn, FrameKind.CLOSE, closed_by="client"))
    return with_frames(evidence, sorted(rows, key=lambda frame: frame.t_ns))


def _repeatable(evidence: Evidence) -> Sequence[tuple[str, int, int]]:
    """Return process, number and partition of commits after which it was free to make another one."""
    interval = interval_ns(evidence)
    if interval is None:
        return []
    found = []
    for process, made in sent(evidence).items():
        for at, each in enumerate(made):
            if each.asked.code != 0 or each.asked.reached_ns is None:
                continue
            read_ns = each.asked.reached_ns
            span = Span(read_ns, bound_ns(lives(evidence)[process], read_ns, 2 * interval))
            found += [
                (process, at, owned.partition)
                for owned in ownerships(evidence)
                if owned.process == process
                and owned.partition in each.offsets
                and is_free(evidence, owned, span)
            ]
    return found


def _not_repeated(evidence: Evidence, place: tuple[str, int, int]) -> Evidence:
    process, at, _ = place
    made = sent(evidence)[process]
    until_ns = bound_ns(lives(evidence)[process], made[at].arrived_ns, 2 * (interval_ns(evidence) or 0))
    later = (each.asked for each in made[at + 1 :] if each.arrived_ns <= until_ns + SLACK_NS)
    return without(with_edits(evidence, refused(made[at].asked, MOVED)), later)


def _alone_in_trouble(evidence: Evidence) -> Sequence[tuple[str, int]]:
    """Return process and number of commits around which nothing failed, and which its member outlived."""
    found = []
    for process, at in _steady(evidence):
        each = sent(evidence)[process][at]
        told_ns = each.asked.answer.t_ns if each.asked.answer is not None else 0
        span = Span(told_ns - SLACK_NS, told_ns + SLACK_NS)
        is_calm = is_able(evidence, process, span) and not has_other_trouble(evidence, process, span)
        if is_calm and each.asked.reached_ns is not None and lives(evidence)[process].covers(span):
            found.append((process, at))
    return found


def _poll_raises(evidence: Evidence, place: tuple[str, int]) -> Evidence:
    process, at = place
    each = sent(evidence)[process][at].asked
    at_ns = (each.answer.t_ns if each.answer is not None else 0) + NS_PER_MS
    error = ConsumerError(
        seq=0,
        mono_ns=at_ns,
        wall_ns=wall_ns(evidence, at_ns),
        producer=process,
        call="poll",
        error="NotCoordinatorException",
    )
    return with_added(with_edits(evidence, refused(each, MOVED)), error)


def _partitions(evidence: Evidence) -> Iterable[int]:
    return range(evidence.record.spec.workload.partitions)


def _unknown(evidence: Evidence) -> Sequence[tuple[str, int, int]]:
    """Return process and number of a commit, and a partition of which the process knows no offset."""
    if not is_automatic(evidence):
        return []
    return [
        (process, at, partition)
        for process, made in sent(evidence).items()
        for at, each in enumerate(made)
        for partition in _partitions(evidence)
        if not knows(evidence, process, partition, each.arrived_ns)
    ]


def _in_doubt(evidence: Evidence) -> Sequence[tuple[str, int, int]]:
    """Return process, partition and a moment at which its position was being found out."""
    if not is_automatic(evidence):
        return []
    return [
        (process, partition, span.begin_ns + WAY_NS + SLACK_NS)
        for process in sent(evidence)
        for partition in _partitions(evidence)
        for span in doubts(evidence, process, partition)
        if span.begin_ns + WAY_NS + SLACK_NS + APART_NS < span.end_ns
    ]


def _doubtful(evidence: Evidence, place: tuple[str, int, int]) -> Evidence:
    """The member makes one of its commits at that moment as well, on another connection."""
    process, partition, at_ns = place
    known = next(each for each in sent(evidence)[process] if partition in each.offsets)
    return _with_copies(evidence, known, [at_ns])


def _made_up(evidence: Evidence, place: tuple[str, int, int]) -> Evidence:
    process, at, partition = place
    return _holding(evidence, sent(evidence)[process][at], partition, 0)


def _kind(
    name: str,
    defect: str,
    code: str,
    places: Callable[[Evidence], Sequence[Any]],
    apply: Callable[[Evidence, Any], Evidence],
    verdict: Verdict = Verdict.DIFFERS,
    seen_by: frozenset[str] = FRAMES,
) -> Perturbation:
    return Perturbation(name, seen_by, defect, (code,), places, apply, verdict, ALO, CONSUME)


PERTURBATIONS = (
    _kind(
        "committed-while-reading",
        "commits automatically what the application has taken and not done with",
        "auto-commit-early",
        _while_reading,
        _too_much,
        Verdict.FAIL,
    ),
    _kind(
        "automatic-commit-forgotten",
        "does not commit what was read for longer than twice the interval",
        "auto-commit-overdue",
        _due,
        _forgotten,
    ),
    _kind(
        "automatic-commits-in-a-row",
        "commits automatically five times within twice the interval",
        "auto-commit-too-often",
        _steady,
        _again_and_again,
    ),
    _kind(
        "given-up-without-a-commit",
        "gives a partition up without having committed what was read of it",
        "given-up-uncommitted",
        _given_up,
        _left_behind,
    ),
    _kind(
        "automatic-commit-not-repeated",
        "does not make an automatic commit again that was refused for the moment",
        "auto-commit-not-repeated",
        _repeatable,
        _not_repeated,
    ),
    _kind(
        "poll-raises-for-a-commit",
        "raises the error of an automatic commit from a poll",
        "poll-failed-by-commit",
        _alone_in_trouble,
        _poll_raises,
        seen_by=channels("frames", "history"),
    ),
    _kind(
        "commit-of-an-unknown-position",
        "commits a partition of which it knows no offset",
        "commit-without-position",
        _unknown,
        _made_up,
        Verdict.FAIL,
    ),
    _kind(
        "commit-of-a-doubtful-position",
        "commits a partition whose position is just being reset",
        "commit-in-doubt",
        _in_doubt,
        _doubtful,
    ),
)
