"""The online set of unexplained duplicates: those that no failure of the record itself explains, with the reason."""

from __future__ import annotations

from harness.model.anomaly_row import UNEXPLAINED, AnomalyRow
from harness.model.verdicts import Guarantee
from harness.plugins import registry
from suites.analysis.unexplained import BESIDE, rows
from tests.suites.twice import NOTHING_WRONG, twice


def test_report_contains_the_set():
    assert registry.table("anomalies")[UNEXPLAINED] is rows


def test_copy_explained_by_its_own_failure_is_excluded(story):
    told = twice(story(), again_ms=80, answered=False)
    told.close(1, at_ms=12)
    assert list(rows(told.evidence())) == []


def test_copy_without_a_failure_is_included(story):
    told = twice(story(), again_ms=80)
    told.close(1, at_ms=12)
    assert list(rows(told.evidence())) == [AnomalyRow(UNEXPLAINED, 0, detail=NOTHING_WRONG)]


def test_copy_explained_only_by_another_record_is_included(story):
    told = twice(story(), again_ms=1_500)
    told.fault("disconnect", 1_011, 1_013)
    told.close(1, at_ms=1_012)
    assert list(rows(told.evidence())) == [AnomalyRow(UNEXPLAINED, 0, detail=BESIDE)]


def test_idempotent_client_has_no_set(story):
    assert rows(twice(story(Guarantee.IDEMPOTENT), again_ms=80).evidence()) is None
