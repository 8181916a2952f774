"""The online set of unexplained duplicates: what no failure of a record's own explains, with the reason."""

from __future__ import annotations

from harness.model.anomaly_row import UNEXPLAINED, AnomalyRow
from harness.model.verdicts import Guarantee
from harness.plugins import registry
from suites.analysis.unexplained import BESIDE, rows
from tests.suites.twice import NOTHING_WRONG, twice


def test_the_report_is_given_the_set():
    assert registry.table("anomalies")[UNEXPLAINED] is rows


def test_a_copy_that_a_failure_of_its_own_explains_is_not_in_it(story):
    told = twice(story(), again_ms=80, answered=False)
    told.close(1, at_ms=12)
    assert list(rows(told.evidence())) == []


def test_a_copy_without_any_failure_is(story):
    told = twice(story(), again_ms=80)
    told.close(1, at_ms=12)
    assert list(rows(told.evidence())) == [AnomalyRow(UNEXPLAINED, 0, detail=NOTHING_WRONG)]


def test_a_copy_that_only_a_neighbour_explains_is(story):
    told = twice(story(), again_ms=1_500)
    told.fault("disconnect", 1_011, 1_013)
    told.close(1, at_ms=1_012)
    assert list(rows(told.evidence())) == [AnomalyRow(UNEXPLAINED, 0, detail=BESIDE)]


def test_who_may_not_write_twice_at_all_has_no_set(story):
    assert rows(twice(story(Guarantee.IDEMPOTENT), again_ms=80).evidence()) is None
