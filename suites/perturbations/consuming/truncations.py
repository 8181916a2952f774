"""What members did wrong with a log that had lost its end: they went back to another place, or mixed records up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from harness.model.evidence import Evidence
from harness.model.verdicts import Guarantee, Verdict
from harness.plugins.perturbation import Perturbation
from harness.workloads.consume import accounting
from suites.analysis.consuming.ownership import ownerships
from suites.analysis.consuming.resets import may_reset, parted
from suites.perturbations.consuming.deliveries import once, with_value, without_value
from suites.perturbations.consuming.edits import delivery, with_added
from suites.perturbations.perturbation import channels

HISTORY, CONSUME = channels("history"), frozenset({"consume"})


def _behind(evidence: Evidence) -> Sequence[tuple[str, int, int, int]]:
    """Return process, partition, an offset behind where the logs part, and a moment after the election.

    The process has taken that record, and may go back.
    """
    return [
        (each.process, each.partition, got.offset, last.processed_ns)
        for each in ownerships(evidence)
        if each.partition in parted(evidence) and each.runs[-1]
        for last in each.runs[-1][-1:]
        for got in each.runs[-1][:-1]
        if got.offset > parted(evidence)[each.partition]
        and may_reset(evidence, last.processed_ns + 1)
        and (each.end_ns is None or each.end_ns > last.processed_ns + 1)
    ]


def _went_back_too_little(evidence: Evidence, place: tuple[str, int, int, int]) -> Evidence:
    process, partition, offset, at_ns = place
    return with_added(evidence, delivery(evidence, process, partition, offset, at_ns + 1, 0))


def _kept(evidence: Evidence) -> Sequence[tuple[int, int]]:
    """Return records that took the place of lost ones, and that one owner got which had read the lost ones before."""
    lost = accounting.written_aside(evidence)
    return [place for place in once_of_this_log(evidence) if place in lost and len(ownerships(evidence)) == 1]


def once_of_this_log(evidence: Evidence) -> Sequence[tuple[int, int]]:
    """Return the records of the log that members got once, beside those that it has lost."""
    count = Counter((got.partition, got.offset) for got in accounting.of_this_log(evidence))
    return sorted(place for place, times in count.items() if times == 1)


def _passed_over(evidence: Evidence, place: tuple[int, int]) -> Evidence:
    return without_value(evidence, place, accounting.contents(evidence)[place])


def _before_the_parting(evidence: Evidence) -> Sequence[tuple[int, int]]:
    """Return records that were taken once, before where the logs part."""
    return [place for place in once(evidence) if place[1] < parted(evidence).get(place[0], 0)]


def _lost_record_elsewhere(evidence: Evidence, place: tuple[int, int]) -> Evidence:
    lost = accounting.written_aside(evidence)[place[0], parted(evidence)[place[0]]]
    return with_value(evidence, place, min(lost))


PERTURBATIONS = (
    Perturbation(
        "went-back-behind-the-parting",
        HISTORY,
        "begins again behind where its log and the new leader's part, after an unclean election",
        ("delivered-again-or-backwards",),
        _behind,
        _went_back_too_little,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
    Perturbation(
        "passed-over-after-truncation",
        HISTORY,
        "reads on behind a record that took the place of a lost one, which it had read",
        ("skipped",),
        _kept,
        _passed_over,
        Verdict.FAIL,
        frozenset({Guarantee.AT_LEAST_ONCE}),
        CONSUME,
    ),
    Perturbation(
        "lost-record-at-another-offset",
        HISTORY,
        "delivers a record that the log has lost, at an offset that it never had",
        ("foreign-record",),
        _before_the_parting,
        _lost_record_elsewhere,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
)
