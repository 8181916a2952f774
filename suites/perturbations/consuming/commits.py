"""Commits that hold the wrong offset, are not stored, fall back, or come from another than the owner."""

from __future__ import annotations

from collections.abc import Sequence

from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.analysis.consuming.commits import ON_ITS_WAY_NS, commits
from suites.analysis.consuming.declared import declared
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.ownership import ownerships
from suites.analysis.consuming.resets import may_reset
from suites.analysis.consuming.timing import SLACK_NS
from suites.checks.consume.commit_regress import steps
from suites.checks.consume.committed_early import justified
from suites.checks.consume.lost_commit import expected
from suites.perturbations.consuming.deliveries import ALO, HISTORY, MORE_NS
from suites.perturbations.consuming.edits import commit, with_added, with_stored
from suites.perturbations.consuming.kinds import CONSUME

Spot = tuple[str, int, int, int]


def _last_commits(evidence: Evidence) -> Sequence[Spot]:
    """Return process, partition, offset and end of the last commit in each ownership that made some."""
    found = []
    for each in ownerships(evidence):
        mine = [
            made
            for made in commits(evidence).get(each.partition, ())
            if made.member == each.process and made.success and made.invoke_ns >= each.begin_ns
            if each.end_ns is None or made.complete_ns + 2 * NS_PER_MS < each.end_ns
        ]
        if mine:
            found.append((each.process, each.partition, mine[-1].offset, mine[-1].complete_ns))
    return found


def _too_far(evidence: Evidence, spot: Spot) -> Evidence:
    process, partition, offset, at_ns = spot
    beyond = 1 + max([offset, *(made.offset for made in commits(evidence)[partition])])
    return with_added(evidence, commit(evidence, process, partition, beyond, at_ns + 1))


def _with_stored(evidence: Evidence) -> Sequence[int]:
    return sorted(justified(evidence))


def _stored_too_far(evidence: Evidence, partition: int) -> Evidence:
    _, most = justified(evidence)[partition]
    return with_stored(evidence, partition, most + 1)


def _followed(evidence: Evidence) -> Sequence[Spot]:
    """Return process, partition, offset and end of commits that the same owner followed by another, later."""
    return [
        (before.member, before.partition, before.offset, before.complete_ns)
        for before, after in steps(evidence)
        if before.offset > 1 and after.invoke_ns > before.complete_ns + 2 * NS_PER_MS
        if not may_reset(evidence, before.complete_ns + 1)
    ]


def _set_back(evidence: Evidence, spot: Spot) -> Evidence:
    process, partition, offset, at_ns = spot
    return with_added(evidence, commit(evidence, process, partition, offset - 1, at_ns + 1))


def _before_larger(evidence: Evidence) -> Sequence[tuple[str, int, int, int, int]]:
    """Return process, partition and offset of commits, and begin and end of a larger one that the owner made next."""
    return [
        (before.member, before.partition, before.offset, after.invoke_ns, after.complete_ns)
        for before, after in steps(evidence)
        if before.offset < after.offset and after.invoke_ns > before.complete_ns + 2 * NS_PER_MS
        if after.complete_ns + SLACK_NS + MORE_NS < _closing_ns(evidence, after.member)
        if not may_reset(evidence, after.invoke_ns - NS_PER_MS)
    ]


def _closing_ns(evidence: Evidence, process: str) -> int:
    life = lives(evidence)[process]
    return life.closing_ns or life.end_ns


def _repeated_late(evidence: Evidence, spot: tuple[str, int, int, int, int]) -> Evidence:
    process, partition, offset, begin_ns, end_ns = spot
    called_ns = begin_ns - NS_PER_MS
    took_ns = end_ns + SLACK_NS + MORE_NS - called_ns
    return with_added(evidence, commit(evidence, process, partition, offset, called_ns, took_ns=took_ns))


def _partitions(evidence: Evidence) -> Sequence[int]:
    return sorted(expected(evidence))


def _not_stored(evidence: Evidence, partition: int) -> Evidence:
    return with_stored(evidence, partition, expected(evidence)[partition] - 1)


def _long_after(evidence: Evidence) -> Sequence[tuple[str, int, int]]:
    """Return process, partition and a moment: so long before the last commit that a failure cannot reach it."""
    found = []
    for partition in expected(evidence):
        made = [each for each in commits(evidence)[partition] if each.success]
        at_ns = made[-1].invoke_ns - ON_ITS_WAY_NS - MORE_NS
        living = [
            life.process for life in lives(evidence).values() if life.begin_ns + MORE_NS < at_ns < life.end_ns
        ]
        if living and made[-1].offset == expected(evidence)[partition]:
            found.append((living[0], partition, at_ns))
    return found


def _lost_after_failure(evidence: Evidence, place: tuple[str, int, int]) -> Evidence:
    process, partition, at_ns = place
    failed = commit(evidence, process, partition, 0, at_ns, success=False)
    return with_added(_not_stored(evidence, partition), failed)


def _elsewhere(evidence: Evidence) -> Sequence[Spot]:
    """Return another process than the owner, the partition, what is committed already, and a moment."""
    found = []
    owned = declared(evidence)
    for owner, of in owned.items():
        for partition, spans in of.items():
            for span in spans:
                at_ns = span.begin_ns + SLACK_NS + MORE_NS
                for process, mine in owned.items():
                    life = lives(evidence)[process]
                    is_free = not any(
                        each.overlap_ns(span.begin_ns, at_ns + MORE_NS) for each in mine.get(partition, [])
                    )
                    is_alive = life.begin_ns < span.begin_ns and at_ns + MORE_NS < (
                        life.closing_ns or life.end_ns
                    )
                    stored = [
                        made.offset
                        for made in commits(evidence).get(partition, ())
                        if made.success and made.complete_ns < at_ns
                    ]
                    if process != owner and is_free and is_alive and stored and at_ns + MORE_NS < span.end_ns:
                        found.append((process, partition, max(stored), at_ns))
    return found


def _by_another(evidence: Evidence, spot: Spot) -> Evidence:
    return with_added(evidence, commit(evidence, *spot))


PERTURBATIONS = (
    Perturbation(
        "committed-beyond-processed",
        HISTORY,
        "commits the offset after the record that it has not processed yet",
        ("committed-early",),
        _last_commits,
        _too_far,
        Verdict.FAIL,
        ALO,
        CONSUME,
    ),
    Perturbation(
        "stored-beyond-processed",
        HISTORY,
        "has the coordinator store the offset after the one that was to be committed",
        ("stored-early",),
        _with_stored,
        _stored_too_far,
        Verdict.FAIL,
        ALO,
        CONSUME,
    ),
    Perturbation(
        "commit-not-stored",
        HISTORY,
        "reports a commit as successful that the coordinator does not have",
        ("lost-commit",),
        _partitions,
        _not_stored,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
    Perturbation(
        "commit-lost-long-after-a-failure",
        HISTORY,
        "reports a commit as successful that the coordinator does not have, long after a smaller one failed",
        ("lost-commit",),
        _long_after,
        _lost_after_failure,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
    Perturbation(
        "commit-set-back",
        HISTORY,
        "commits a smaller offset after a larger one",
        ("commit-regress",),
        _followed,
        _set_back,
        Verdict.DIFFERS,
        workloads=CONSUME,
    ),
    Perturbation(
        "commit-repeated-late",
        HISTORY,
        "repeats a commit until it succeeds, more than a second after a later one of a larger offset",
        ("commit-regress",),
        _before_larger,
        _repeated_late,
        Verdict.DIFFERS,
        workloads=CONSUME,
    ),
    Perturbation(
        "commit-for-another-owner",
        HISTORY,
        "commits a partition more than a second after another member has become its owner",
        ("commit-unowned",),
        _elsewhere,
        _by_another,
        Verdict.DIFFERS,
        workloads=CONSUME,
    ),
)
