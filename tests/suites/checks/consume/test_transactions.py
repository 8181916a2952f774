"""Records of transactions: which of them members must be given, need not be given, and must not be given."""

from __future__ import annotations

from dataclasses import replace as swapped

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.judging.completeness.group import members
from harness.model.consumer_contract import RecordsConsumed
from harness.workloads.consume import accounting
from suites.checks.consume import delivery_order, foreign_record, skipped, uncommitted_record
from suites.perturbations.consuming.edits import with_events

CHECKS = (uncommitted_record, foreign_record, skipped, delivery_order)
ABORTED = (3, 4, 5)
COMMITTED = (7, 8)
MARKERS = (6, 9)


def found(told):
    """Return the codes of all findings with their counts."""
    evidence = told.evidence()
    return [(each.anomaly, each.count) for module in CHECKS for each in module.CHECK.run(evidence)]


def taking(told, *offsets, at_ms=1_000):
    """Let m1 take other offsets, at another time."""
    told.events = [event for event in told.events if not isinstance(event, RecordsConsumed)]
    told.take("m1", 0, *offsets, at_ms=at_ms)
    return told


def test_reader_that_leaves_out_what_was_aborted_is_right(transactional):
    told = transactional()
    assert found(told) == [] and accounting.missed(told.evidence()) == []


@given(st.sets(st.sampled_from(ABORTED), min_size=1))
def test_aborted_record_is_found(transactional, given_too):
    told = taking(transactional(), *sorted({0, 1, 2, *given_too, 7, 8, 10, 11}))
    assert found(told) == [("aborted-record", len(given_too))]


@given(st.sets(st.sampled_from(COMMITTED), min_size=1))
def test_left_out_committed_record_is_skipped(transactional, left_out):
    told = taking(transactional(), *sorted({0, 1, 2, 7, 8, 10, 11} - left_out))
    assert set(found(told)) == {("skipped", len(left_out)), ("gap", len(left_out))}


@pytest.mark.parametrize(("at_ms", "early"), [(350, 2), (399, 2), (400, 0), (401, 0)])
def test_record_that_was_delivered_before_its_commit_was_asked_for(transactional, at_ms, early):
    told = taking(transactional(), 0, 1, 2, 7, 8, at_ms=at_ms)
    told.take("m1", 0, 10, 11, at_ms=1_000)
    assert found(told) == ([("uncommitted-record", early)] if early else [])


@given(st.sampled_from(MARKERS))
def test_marker_is_no_record(transactional, marker):
    told = taking(transactional(), *sorted({0, 1, 2, marker, 7, 8, 10, 11}))
    assert found(told) == [("foreign-record", 1)]


def test_reader_of_uncommitted_records_must_be_given_all(transactional):
    told = transactional(**{"isolation.level": "read_uncommitted"})
    assert set(found(told)) == {("skipped", 3), ("gap", 3)}
    assert found(taking(told, 0, 1, 2, 3, 4, 5, 7, 8, 10, 11, at_ms=50)) == []


@pytest.mark.parametrize("offsets", [(0, 1, 2, 7, 8, 10, 11), (0, 1, 2, 3, 4, 5, 7, 8, 10, 11)])
def test_client_that_cannot_be_told_an_isolation_level_may_do_either(transactional, offsets):
    told = taking(transactional(), *offsets)
    told.not_set["isolation.level"] = "it has no such setting"
    assert found(told) == []


@pytest.mark.parametrize(
    "change",
    [
        {"key": "COMMIT"},
        {"producer_id": 8},
        {"control": False},
    ],
)
def test_log_whose_markers_contradict_the_harness_is_no_evidence(transactional, change):
    evidence = transactional().evidence()
    evidence = with_events(evidence, evidence.history)
    assert members(evidence) is None
    log = tuple(replace(row, **change) if row.offset == 6 else row for row in evidence.log)
    assert members(swapped(evidence, log=log)) is not None
