"""Members that join with the wrong id, or too late."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from harness.model.consumer_contract import RecordsConsumed
from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.analysis.consuming.asked import Asked, of_group
from suites.analysis.consuming.lives import lives
from suites.analysis.way import SLACK_NS
from suites.checks.consume_wire.rejoin_identity import GIVEN, OUTDATED, REBALANCES, UNKNOWN, is_read
from suites.checks.consume_wire.rejoins_late import told
from suites.perturbations.consuming.edits import is_quiet, waited, wall_ns, with_added
from suites.perturbations.consuming.kinds import CONSUME
from suites.perturbations.membership.exchanges import asking, refused, with_edits
from suites.perturbations.perturbation import channels

FRAMES = channels("frames")
JOIN = "JoinGroup"
OTHER_ID = "another-member"
WORKED_NS, MORE_NS = 1_000 * NS_PER_MS, 2_000 * NS_PER_MS
Pair = tuple[str, int]


def _requests(evidence: Evidence, process: str) -> list[Asked]:
    return of_group(evidence, JOIN, "SyncGroup", "Heartbeat")[process]


def _pairs(evidence: Evidence, code: int, api: str) -> Sequence[Pair]:
    """Return process and index of the requests of an API with this answer, which the member read and then joined."""
    return [
        (process, at)
        for process in of_group(evidence)
        for at, (before, after) in enumerate(pairwise(_requests(evidence, process)))
        if (before.api, before.code, after.api) == (api, code, JOIN)
        and before.request.conn == after.request.conn
        and is_read(evidence, before, after)
    ]


def _given(evidence: Evidence) -> Sequence[Pair]:
    return _pairs(evidence, GIVEN, JOIN)


def _told_to_rejoin(evidence: Evidence) -> Sequence[Pair]:
    return _pairs(evidence, REBALANCES, "Heartbeat")


def _two(evidence: Evidence, place: Pair) -> tuple[Asked, Asked]:
    process, at = place
    before, after = _requests(evidence, process)[at : at + 2]
    return before, after


def _without_given(evidence: Evidence, place: Pair) -> Evidence:
    return with_edits(evidence, asking(_two(evidence, place)[1], member_id=""))


def _with_another(evidence: Evidence, place: Pair) -> Evidence:
    return with_edits(evidence, asking(_two(evidence, place)[1], member_id=OTHER_ID))


def _refused_again(evidence: Evidence, place: Pair) -> Evidence:
    """The coordinator does not know the id with which the member joins, and it joins with it again."""
    before, after = _two(evidence, place)
    edits = asking(before, member_id=after.member.member_id) | refused(before, UNKNOWN)
    return with_edits(evidence, edits)


def _kept(evidence: Evidence, place: Pair) -> Evidence:
    """A heartbeat is answered with an unknown member, and the member joins with the same id."""
    return with_edits(evidence, refused(_two(evidence, place)[0], UNKNOWN))


def _dropped(evidence: Evidence, place: Pair) -> Evidence:
    before, after = _two(evidence, place)
    return with_edits(evidence, refused(before, OUTDATED) | asking(after, member_id=""))


def _reactions(evidence: Evidence) -> Sequence[tuple[str, int, int]]:
    """Return process, limit, and the moment just before a member joins that was told to."""
    found = []
    for each in told(evidence):
        later = [
            request.request.arrived_ns
            for request in of_group(evidence, JOIN)[each.process]
            if request.request.arrived_ns > each.span.begin_ns - SLACK_NS
        ]
        if later and not each.is_late and is_quiet(evidence, later[0]):
            found.append((each.process, each.limit_ns, later[0]))
    return found


def _late(evidence: Evidence, place: tuple[str, int, int]) -> Evidence:
    _, limit_ns, at_ns = place
    return waited(evidence, at_ns, limit_ns + MORE_NS)


def _late_beside_work(evidence: Evidence, place: tuple[str, int, int]) -> Evidence:
    """The member works a second of the time, which is not enough to explain it."""
    process, limit_ns, at_ns = place
    late = waited(evidence, at_ns, limit_ns + WORKED_NS + MORE_NS)
    begin_ns = at_ns + WORKED_NS
    worked_ns = begin_ns + WORKED_NS
    turn = RecordsConsumed(
        seq=0,
        mono_ns=worked_ns,
        wall_ns=wall_ns(evidence, worked_ns),
        producer=process,
        count=0,
        partitions=[],
        polled_ns=begin_ns,
    )
    assert lives(evidence)[process].begin_ns < begin_ns
    return with_added(late, turn)


PERTURBATIONS = (
    Perturbation(
        "joined-without-given-id",
        FRAMES,
        "joins again without the member id that it was given",
        ("given-id-not-used",),
        _given,
        _without_given,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
    Perturbation(
        "joined-with-another-id",
        FRAMES,
        "joins with another member id than the one that it was given",
        ("given-id-not-used",),
        _given,
        _with_another,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
    Perturbation(
        "joined-with-refused-id-again",
        FRAMES,
        "joins again with a member id that was refused when it joined",
        ("refused-id-again",),
        _given,
        _refused_again,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
    Perturbation(
        "unknown-id-kept-at-once",
        FRAMES,
        "joins with its member id, right after a heartbeat on this connection was answered with an unknown member",
        ("unknown-id-kept",),
        _told_to_rejoin,
        _kept,
        Verdict.DIFFERS,
        workloads=CONSUME,
    ),
    Perturbation(
        "id-of-outdated-generation-dropped",
        FRAMES,
        "joins without its member id, although only the generation was outdated",
        ("id-dropped",),
        _told_to_rejoin,
        _dropped,
        Verdict.DIFFERS,
        workloads=CONSUME,
    ),
    Perturbation(
        "rejoined-beyond-the-rebalance-timeout",
        channels("history", "frames"),
        "joins again two seconds after the rebalance timeout",
        ("rejoins-late",),
        _reactions,
        _late,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
    Perturbation(
        "rejoined-late-beside-work",
        channels("history", "frames"),
        "joins again two seconds after the rebalance timeout, not counting a second of work",
        ("rejoins-late",),
        _reactions,
        _late_beside_work,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
)
