"""A log that has lost its end (KIP-320): a member goes back to where the logs part, or begins again."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Guarantee
from harness.plugins.check import Inconclusive
from harness.plugins.registry import checks
from harness.workloads.consume import accounting


def found(told):
    """Return code and count of each finding of the checks of consumers' histories."""
    evidence = told.evidence()
    codes = []
    for check in checks().values():
        if check.workloads == {"consume"} and evidence.record.spec.guarantee in check.guarantees:
            try:
                codes += [(each.anomaly, each.count) for each in check.run(evidence)]
            except Inconclusive:
                codes.append((check.name, 0))
    return codes


@pytest.mark.parametrize("guarantee", [Guarantee.AT_LEAST_ONCE, Guarantee.AT_MOST_ONCE])
@pytest.mark.parametrize("begins", [0, 3])
def test_member_goes_back_to_where_the_logs_part_or_begins_again(truncated, guarantee, begins):
    told = truncated(guarantee, begins)
    assert found(told) == [] and accounting.missed(told.evidence()) == []


@pytest.mark.parametrize("begins", [4, 5])
def test_member_that_reads_on_skips_what_took_the_lost_records_place(truncated, begins):
    told = truncated(begins=begins)
    assert ("skipped", begins - 3) in found(told)
    assert accounting.missed(told.evidence()) == [(0, offset) for offset in range(3, begins)]


def test_member_that_begins_again_elsewhere_goes_backwards(truncated):
    assert ("delivered-again-or-backwards", 1) in found(truncated(begins=4))
    told = truncated()
    told.faults.clear()
    assert ("delivered-again-or-backwards", 1) in found(told)


def test_lost_record_is_foreign_where_nobody_wrote_it(truncated):
    told = truncated()
    lost = told.lose(1, 0, 5_000)[0]  # it was written at offset 9
    told.take("m1", 0, 9, at_ms=5_100, value=lost)
    assert ("foreign-record", 1) not in found(told)
    told.take("m1", 0, 10, at_ms=5_200, value=lost)
    assert ("foreign-record", 1) in found(told)


@pytest.mark.parametrize(("assigned_ms", "is_excused"), [(3_500, True), (500, False)])
def test_new_owner_that_begins_at_a_stored_offset_cannot_know(truncated, assigned_ms, is_excused):
    told = truncated(begins=5)
    told.assign("m1", 0, at_ms=assigned_ms, generation=2)
    assert (("skipped", 2) not in found(told)) is is_excused
