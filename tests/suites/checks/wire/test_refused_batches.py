"""Batches that brokers reject: for their size, which clients may split, and for a correct sequence."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Guarantee, Level
from harness.plugins.check import Unsupported
from suites.checks.history import gave_up
from suites.checks.wire import oversized_batch_not_split, sequence_not_recovered
from testkit.codes import raises_code

TOO_LARGE, OUT_OF_ORDER, UNKNOWN_PRODUCER = 10, 45, 59


def refused(told, numbers, *, at_ms=10, failed_ms=12, outcome="info", error="TOO_LARGE"):
    """A batch of these records is too large, and they fail."""
    told.call(*numbers)
    told.request(numbers, partition=0, at_ms=at_ms)
    told.answer(0, -1, at_ms=at_ms + 1, error_code=TOO_LARGE)
    for n in numbers:
        told.result(n, at_ms=failed_ms, outcome=outcome, error=error)
    return told


def found(check, told):
    return [(finding.anomaly, finding.count) for finding in check.CHECK.run(told.evidence())]


@pytest.mark.parametrize("outcome", ["fail", "info"])
def test_batch_that_fails_whole_is_unsplit_and_not_given_up(story, outcome):
    told = refused(story(), [0, 1, 2], outcome=outcome)
    assert found(oversized_batch_not_split, told) == [("oversized-batch-not-split", 3)]
    assert found(gave_up, told) == []


def test_batch_resent_in_parts_is_split(story):
    told = story()
    told.call(0, 1)
    told.request([0, 1], partition=0, at_ms=10)
    told.answer(0, -1, at_ms=11, error_code=TOO_LARGE)
    for n in (0, 1):
        told.result(n, at_ms=30, offset=told.deliver([n], partition=0, at_ms=20 + n))
    assert found(oversized_batch_not_split, told) == found(gave_up, told) == []


def test_oversized_single_record_cannot_be_split(story):
    told = refused(story(), [0])
    assert found(oversized_batch_not_split, told) == found(gave_up, told) == []


def test_batch_with_oversized_records_is_not_judged(story):
    told = refused(refused(story(), [0, 1]), [2], at_ms=50, failed_ms=52)
    assert found(oversized_batch_not_split, told) == found(gave_up, told) == []


def test_only_as_many_records_as_the_batch_had_failed_for_its_size(story):
    told = refused(story(), [0, 1])
    told.call(2)
    told.result(2, at_ms=12, outcome="info", error="TOO_LARGE")
    assert found(oversized_batch_not_split, told) == [("oversized-batch-not-split", 2)]
    assert found(gave_up, told) == [("gave-up-behind-refusal", 1)]


@pytest.mark.parametrize(
    ("partition", "called_ms", "failed_ms", "error", "level"),
    [
        (0, 0, 12, "TOO_LARGE", Level.SHOULD),
        (1, 0, 12, "TOO_LARGE", Level.MUST),
        (0, 11.5, 12, "TOO_LARGE", Level.MUST),
        (0, 0, 80, "TOO_LARGE", Level.MUST),
        (0, 0, 12, "CLOSED", Level.MUST),
    ],
)
def test_records_after_an_oversized_batch_may_fail_with_it(
    story, partition, called_ms, failed_ms, error, level
):
    """franz-go does this to keep the order: same partition, time and error, and called before."""
    told = refused(story(), [0, 1])
    told.call(2, at_ms=called_ms)
    told.result(2, at_ms=failed_ms, partition=partition, outcome="info", error=error)
    (finding,) = gave_up.CHECK.run(told.evidence())
    assert (finding.count, finding.level) == (1, level)


def test_other_errors_did_not_fail_for_the_size(story):
    told = refused(story(), [0, 1])
    told.call(2)
    told.result(2, at_ms=12, outcome="info", error="_TRANSPORT")
    assert found(gave_up, told) == [("gave-up", 1)]


@pytest.mark.parametrize("failed_ms", [1_500, 29_500], ids=["much later", "with its time"])
def test_later_failure_is_separate(story, failed_ms):
    assert found(oversized_batch_not_split, refused(story(), [0, 1], failed_ms=failed_ms)) == []


def test_expired_batch_need_not_be_split(story):
    told = refused(story(), [0, 1], at_ms=29_500, failed_ms=29_502)
    assert found(oversized_batch_not_split, told) == []


def test_records_of_another_partition_were_not_in_the_batch(story):
    told = story()
    told.call(0, 1, 4, 5)
    told.deliver([4], partition=1, at_ms=5)  # keys repeat: record 4 has the key of record 0
    told.result(4, at_ms=6, offset=0, partition=1)
    told.request([1, 5], partition=0, at_ms=10)
    told.answer(0, -1, at_ms=11, error_code=TOO_LARGE)
    for n in (0, 1, 5):
        told.result(n, at_ms=12, outcome="info", error="TOO_LARGE", partition=-1)
    assert found(oversized_batch_not_split, told) == [("oversized-batch-not-split", 2)]
    assert found(gave_up, told) == [("gave-up", 1)]


def test_parts_may_fail_if_retries_are_few(story):
    with raises_code(Unsupported, "retries-limited", retries=2):
        oversized_batch_not_split.CHECK.run(refused(story(config={"retries": 2}), [0, 1]).evidence())


def contradicted(story, code=OUT_OF_ORDER, base=1):
    """Record 0 is stored under sequence 0. The broker rejects record 1, with the next sequence, as out of order."""
    told = story(Guarantee.IDEMPOTENT)
    told.call(0, 1)
    told.request([0], partition=0, at_ms=5, sequence=(7, 0, 0))
    told.answer(0, told.append([0], partition=0, producer_id=7, producer_epoch=0, sequence=0), at_ms=6)
    told.result(0, at_ms=7, offset=0)
    told.request([1], partition=0, at_ms=10, sequence=(7, 0, base))
    told.answer(0, -1, at_ms=11, error_code=code)
    return told


@pytest.mark.parametrize("code", [OUT_OF_ORDER, UNKNOWN_PRODUCER])
def test_ending_after_a_correct_sequence_is_unrepaired_and_not_giving_up(story, code):
    told = contradicted(story, code)
    told.result(1, at_ms=12, outcome="info", error="_FATAL")
    assert found(sequence_not_recovered, told) == [("sequence-not-recovered", 1)]
    assert found(gave_up, told) == []


def test_new_epoch_repairs_the_sequence(story):
    told = contradicted(story)
    told.request([1], partition=0, at_ms=20, sequence=(7, 1, 0))
    told.answer(0, told.append([1], partition=0, producer_id=7, producer_epoch=1, sequence=0), at_ms=21)
    told.result(1, at_ms=22, offset=1)
    assert found(sequence_not_recovered, told) == found(gave_up, told) == []


def test_sequence_gap_is_rejected_correctly_and_is_giving_up(story):
    told = contradicted(story, base=5)
    told.result(1, at_ms=12, outcome="info", error="OUT_OF_ORDER_SEQUENCE_NUMBER")
    assert found(sequence_not_recovered, told) == []
    assert found(gave_up, told) == [("gave-up", 1)]


def test_earlier_failure_has_another_cause(story):
    told = contradicted(story)
    told.call(2, at_ms=-200)
    told.result(2, at_ms=-100, outcome="info", error="_TRANSPORT")
    told.result(1, at_ms=12, outcome="info", error="_FATAL")
    assert (found(sequence_not_recovered, told), found(gave_up, told)) == (
        [("sequence-not-recovered", 1)],
        [("gave-up", 1)],
    )


def test_without_sequences_nothing_needs_repair(story):
    told = story()
    told.call(0)
    told.request([0], partition=0, at_ms=10)
    told.answer(0, -1, at_ms=11, error_code=OUT_OF_ORDER)
    told.result(0, at_ms=12, outcome="info", error="E")
    assert found(sequence_not_recovered, told) == []
    assert found(gave_up, told) == [("gave-up", 1)]


def test_continuing_producer_failed_only_what_it_had_then(story):
    """Record 5 is of the rejected partition and called later. Record 2 is of another one.

    Record 6 is acknowledged.
    """
    told = contradicted(story)
    told.result(1, at_ms=12, outcome="info", error="_FATAL", partition=0)
    told.call(2, 5, 6, at_ms=100)
    for n, partition in ((2, 1), (5, 0)):
        told.result(n, at_ms=150, outcome="info", error="_TRANSPORT", partition=partition)
    told.result(6, at_ms=160)
    assert (found(sequence_not_recovered, told), found(gave_up, told)) == (
        [("sequence-not-recovered", 1)],
        [("gave-up", 2)],
    )


def test_ended_producer_fails_all_records(story):
    told = contradicted(story)
    told.result(1, at_ms=12, outcome="info", error="_FATAL", partition=0)
    told.call(2, at_ms=100)
    told.result(2, at_ms=101, outcome="info", error="_FATAL", partition=1)
    assert (found(sequence_not_recovered, told), found(gave_up, told)) == (
        [("sequence-not-recovered", 2)],
        [],
    )


@pytest.mark.parametrize(("acked_ms", "has_ended"), [(300, True), (900, False)])
def test_much_later_acknowledgement_shows_that_the_producer_continues(story, acked_ms, has_ended):
    """Nothing is called after the rejection. Record 2 is acknowledged in another partition."""
    told = contradicted(story)
    told.call(2, 3)
    told.result(1, at_ms=12, outcome="info", error="_FATAL", partition=0)
    told.result(2, at_ms=acked_ms, partition=1)
    told.result(3, at_ms=1_000, outcome="info", error="_TRANSPORT", partition=1)
    expected = (
        ([("sequence-not-recovered", 2)], [])
        if has_ended
        else ([("sequence-not-recovered", 1)], [("gave-up", 1)])
    )
    assert (found(sequence_not_recovered, told), found(gave_up, told)) == expected


@pytest.mark.parametrize("is_lost", [True, False])
def test_forgotten_batch_fails_despite_its_correct_sequence(story, is_lost):
    """Later batches get responses. The first one gets none, or gets one and is resent and rejected."""
    told = story(Guarantee.IDEMPOTENT)
    told.call(*range(7))
    for n in range(7):
        told.request([n], partition=0, at_ms=10 + n, sequence=(7, 0, n))
        base = told.append([n], partition=0, producer_id=7, producer_epoch=0, sequence=n)
        if n or not is_lost:
            told.answer(0, base, at_ms=20 + n)
        if n:
            told.result(n, at_ms=21 + n, offset=base)
    told.close(1, at_ms=3_010)
    told.request([0], partition=0, at_ms=3_020, conn=2, sequence=(7, 0, 0))
    told.answer(0, -1, at_ms=3_021, conn=2, error_code=OUT_OF_ORDER)
    told.result(0, at_ms=3_022, outcome="info", error="OUT_OF_ORDER_SEQUENCE_NUMBER")

    expected = ([("sequence-not-recovered", 1)], []) if is_lost else ([], [("gave-up", 1)])
    assert (found(sequence_not_recovered, told), found(gave_up, told)) == expected


def test_size_limit_at_another_time_does_not_apply(story):
    told = story()
    told.fault("message_size_limit", 0, 40, bytes=100)
    told.fault("message_size_limit", 1_000, 1_040, bytes=900)
    refused(told, [0])
    told.call(1, 2, at_ms=1_001)
    told.request([1, 2], partition=0, at_ms=1_010)
    told.answer(0, -1, at_ms=1_011, error_code=TOO_LARGE)
    for n in (1, 2):
        told.result(n, at_ms=1_012, outcome="info", error="TOO_LARGE")
    assert found(oversized_batch_not_split, told) == [("oversized-batch-not-split", 2)]
