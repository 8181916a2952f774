"""Lost, unexpected and corrupted records: forbidden and allowed examples."""

from __future__ import annotations

from dataclasses import replace as copied

import pytest
from msgspec.structs import replace

from harness.model.payload import Identity, encode
from harness.plugins.check import NotExercised, Unsupported
from suites.checks.history import corrupted, lost, unexpected_record
from testkit.codes import raises_code


def found(check, told):
    return [(finding.message, finding.count) for finding in check.CHECK.run(told.evidence())]


@pytest.mark.parametrize("outcome", ["fail", "info"])
def test_unacknowledged_record_may_be_missing(story, outcome):
    told = story()
    told.call(0)
    told.result(0, at_ms=5, outcome=outcome, error="E")

    assert found(lost, told) == []


def test_missing_acknowledged_record_is_lost(story):
    told = story()
    told.call(0, 1)
    told.result(0, at_ms=5, offset=0)
    told.result(1, at_ms=5, offset=told.deliver([1], partition=0, at_ms=3))

    assert found(lost, told) == [("1 acknowledged record not in the log", 1)]


@pytest.mark.parametrize(
    ("answered_ms", "told_ms", "error"),
    [(3, 4, "MESSAGE_TOO_LARGE"), (3, 2_000, None), (9, 2, None)],
    ids=["reported at once", "reported much later", "reported before"],
)
def test_an_error_that_was_reported_as_success_is_the_cause(story, answered_ms, told_ms, error):
    told = story()
    told.call(0)
    told.request([0], partition=0, at_ms=1)
    told.answer(partition=0, base_offset=-1, at_ms=answered_ms, error_code=10)
    told.result(0, at_ms=told_ms, offset=0)
    cause = f": acknowledged although the broker answered {error}" if error else ""

    assert found(lost, told) == [(f"1 acknowledged record not in the log{cause}", 1)]


def test_a_batch_that_was_answered_after_the_error_is_not_its_victim(story):
    told = story()
    told.call(0, 1)
    told.request([1], partition=0, at_ms=1)
    told.answer(partition=0, base_offset=-1, at_ms=2, error_code=10)
    told.deliver([2], partition=0, at_ms=3)
    told.result(0, at_ms=5, offset=0)

    assert found(lost, told) == [("1 acknowledged record not in the log", 1)]


def test_a_user_who_chose_fewer_acks_reads_so(story):
    chosen = story(config={"acks": "1"}).evidence()
    spec = replace(chosen.record.spec, origins={"acks": "user"})
    with raises_code(NotExercised, "setting-of-yours", setting="acks", value="1"):
        lost.CHECK.run(copied(chosen, record=replace(chosen.record, spec=spec)))


def test_without_acks_all_records_may_be_missing(story):
    with raises_code(Unsupported, "acks-not-all", acks=1):
        lost.CHECK.run(story(config={"acks": 1}).evidence())


def test_unknown_result_may_be_stored_and_definite_failure_may_not(story):
    told = story()
    told.call(0, 1)
    told.deliver([0, 1], partition=0, at_ms=3)
    told.result(0, at_ms=5, outcome="info", error="TIMED_OUT")
    told.result(1, at_ms=5, outcome="fail", error="MESSAGE_TOO_LARGE")

    assert found(unexpected_record, told) == [("1 log record was reported as certainly not written", 1)]


def test_foreign_record_is_unexpected_and_not_corrupted(story):
    told = story()
    told.log.append(told.record(0, 0, value=encode(Identity("other", "t", "p1", 0), 60)))

    assert found(unexpected_record, told) == [("1 log record was written by another program", 1)]
    assert found(corrupted, told) == []


def test_control_records_are_ignored(story):
    told = story()
    told.log.append(told.record(0, 0, value=None, key=None, control=True))

    assert found(unexpected_record, told) == found(corrupted, told) == []


def test_acknowledged_offset_must_be_one_of_the_record(story):
    told = story()
    told.call(0, 1, 2)
    told.deliver([0, 1, 2], partition=0, at_ms=3)
    told.deliver([0], partition=0, at_ms=90)
    told.result(0, at_ms=95, offset=3)
    told.result(1, at_ms=95, offset=2)
    told.result(2, at_ms=95, offset=-1)

    assert found(corrupted, told) == [("1 place: a record was acknowledged where it is not", 1)]


def test_two_records_cannot_share_an_offset(story):
    told = story()
    told.call(0, 1)
    told.deliver([0], partition=0, at_ms=3)
    told.result(0, at_ms=5, offset=0)
    told.result(1, at_ms=5, offset=0)

    assert found(corrupted, told) == [("1 place: two records were acknowledged at one place", 1)]
    assert found(lost, told) == [("1 acknowledged record not in the log", 1)]


def test_recreated_topic_reuses_offsets(story):
    told = story()
    told.call(0, 1, 2)
    told.fault("topic_recreate", 100, 1_100)
    for n, at_ms in ((0, 5), (1, 1_200)):
        told.result(n, at_ms=at_ms, offset=0)
    assert found(corrupted, told) == []

    told.result(2, at_ms=1_300, offset=0)
    assert found(corrupted, told) == [("1 place: two records were acknowledged at one place", 1)]


def test_recreated_topic_is_the_old_one_until_it_was_deleted(story):
    """The deletion took 900 of the 1,000 ms. The result after 800 ms is still about the old topic."""
    told = story()
    told.call(0, 1, 2)
    told.fault("topic_recreate", 100, 1_100)
    [row] = told.faults
    begin_ns, end_ns = row.effective_ns
    told.faults = [replace(row, certain_ns=(begin_ns + 900_000_000, end_ns))]
    told.result(0, at_ms=900, offset=0)
    told.result(1, at_ms=1_200, offset=0)
    assert found(corrupted, told) == []


def test_samples_are_limited_and_counts_are_not(story):
    told = story()
    told.call(*range(40))
    for n in range(40):
        told.result(n, at_ms=5)

    (finding,) = lost.CHECK.run(told.evidence())
    assert (finding.count, len(finding.samples)) == (40, 16)
