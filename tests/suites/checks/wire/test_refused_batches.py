"""Batches that brokers refuse: for their size, which clients may split, and for a sequence that was the next one."""

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
def test_a_batch_that_fails_whole_is_unsplit_and_was_not_given_up(story, outcome):
    told = refused(story(), [0, 1, 2], outcome=outcome)
    assert found(oversized_batch_not_split, told) == [("oversized-batch-not-split", 3)]
    assert found(gave_up, told) == []


def test_a_batch_that_goes_in_parts_is_split(story):
    told = story()
    told.call(0, 1)
    told.request([0, 1], partition=0, at_ms=10)
    told.answer(0, -1, at_ms=11, error_code=TOO_LARGE)
    for n in (0, 1):
        told.result(n, at_ms=30, offset=told.deliver([n], partition=0, at_ms=20 + n))
    assert found(oversized_batch_not_split, told) == found(gave_up, told) == []


def test_a_record_that_is_too_large_alone_cannot_be_split(story):
    told = refused(story(), [0])
    assert found(oversized_batch_not_split, told) == found(gave_up, told) == []


def test_where_single_records_are_too_large_nobody_knows_which_would_have_fitted(story):
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
def test_records_behind_a_batch_that_was_too_large_may_fail_with_it(
    story, partition, called_ms, failed_ms, error, level
):
    """As franz-go does to keep the order: in its partition, in its moment, called before, and with its error."""
    told = refused(story(), [0, 1])
    told.call(2, at_ms=called_ms)
    told.result(2, at_ms=failed_ms, partition=partition, outcome="info", error=error)
    (finding,) = gave_up.CHECK.run(told.evidence())
    assert (finding.count, finding.level) == (1, level)


def test_what_failed_of_something_else_did_not_fail_for_its_size(story):
    told = refused(story(), [0, 1])
    told.call(2)
    told.result(2, at_ms=12, outcome="info", error="_TRANSPORT")
    assert found(gave_up, told) == [("gave-up", 1)]


@pytest.mark.parametrize("failed_ms", [1_500, 29_500], ids=["much later", "with its time"])
def test_what_fails_later_is_another_matter(story, failed_ms):
    assert found(oversized_batch_not_split, refused(story(), [0, 1], failed_ms=failed_ms)) == []


def test_a_batch_whose_time_is_over_need_not_be_split(story):
    told = refused(story(), [0, 1], at_ms=29_500, failed_ms=29_502)
    assert found(oversized_batch_not_split, told) == []


def test_records_of_another_partition_were_not_in_the_batch(story):
    told = story()
    told.call(0, 1, 4, 5)
    told.deliver([4], partition=1, at_ms=5)  # keys go round: record 4 has the key of record 0
    told.result(4, at_ms=6, offset=0, partition=1)
    told.request([1, 5], partition=0, at_ms=10)
    told.answer(0, -1, at_ms=11, error_code=TOO_LARGE)
    for n in (0, 1, 5):
        told.result(n, at_ms=12, outcome="info", error="TOO_LARGE", partition=-1)
    assert found(oversized_batch_not_split, told) == [("oversized-batch-not-split", 2)]
    assert found(gave_up, told) == [("gave-up", 1)]


def test_with_few_retries_parts_may_fail_too(story):
    with raises_code(Unsupported, "retries-limited", retries=2):
        oversized_batch_not_split.CHECK.run(refused(story(config={"retries": 2}), [0, 1]).evidence())


def contradicted(story, code=OUT_OF_ORDER, base=1):
    """Record 0 is stored under sequence 0; of record 1, under the next one, the broker says that it is not."""
    told = story(Guarantee.IDEMPOTENT)
    told.call(0, 1)
    told.request([0], partition=0, at_ms=5, sequence=(7, 0, 0))
    told.answer(0, told.append([0], partition=0, producer_id=7, producer_epoch=0, sequence=0), at_ms=6)
    told.result(0, at_ms=7, offset=0)
    told.request([1], partition=0, at_ms=10, sequence=(7, 0, base))
    told.answer(0, -1, at_ms=11, error_code=code)
    return told


@pytest.mark.parametrize("code", [OUT_OF_ORDER, UNKNOWN_PRODUCER])
def test_who_ends_over_the_next_sequence_is_unmended_and_did_not_give_up(story, code):
    told = contradicted(story, code)
    told.result(1, at_ms=12, outcome="info", error="_FATAL")
    assert found(sequence_not_recovered, told) == [("sequence-not-recovered", 1)]
    assert found(gave_up, told) == []


def test_who_begins_anew_has_mended_it(story):
    told = contradicted(story)
    told.request([1], partition=0, at_ms=20, sequence=(7, 1, 0))
    told.answer(0, told.append([1], partition=0, producer_id=7, producer_epoch=1, sequence=0), at_ms=21)
    told.result(1, at_ms=22, offset=1)
    assert found(sequence_not_recovered, told) == found(gave_up, told) == []


def test_who_leaves_a_gap_is_rightly_refused_and_gives_up(story):
    told = contradicted(story, base=5)
    told.result(1, at_ms=12, outcome="info", error="OUT_OF_ORDER_SEQUENCE_NUMBER")
    assert found(sequence_not_recovered, told) == []
    assert found(gave_up, told) == [("gave-up", 1)]


def test_what_failed_before_failed_of_something_else(story):
    told = contradicted(story)
    told.call(2, at_ms=-200)
    told.result(2, at_ms=-100, outcome="info", error="_TRANSPORT")
    told.result(1, at_ms=12, outcome="info", error="_FATAL")
    assert (found(sequence_not_recovered, told), found(gave_up, told)) == (
        [("sequence-not-recovered", 1)],
        [("gave-up", 1)],
    )


def test_without_sequences_there_is_nothing_to_mend(story):
    told = story()
    told.call(0)
    told.request([0], partition=0, at_ms=10)
    told.answer(0, -1, at_ms=11, error_code=OUT_OF_ORDER)
    told.result(0, at_ms=12, outcome="info", error="E")
    assert found(sequence_not_recovered, told) == []
    assert found(gave_up, told) == [("gave-up", 1)]


def test_a_producer_that_goes_on_failed_what_it_was_handed_before_alone(story):
    """Record 5 is of the refused partition, handed over later; record 2 is of another one; record 6 is acknowledged."""
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


def test_a_producer_that_ends_fails_all_that_it_has(story):
    told = contradicted(story)
    told.result(1, at_ms=12, outcome="info", error="_FATAL", partition=0)
    told.call(2, at_ms=100)
    told.result(2, at_ms=101, outcome="info", error="_FATAL", partition=1)
    assert (found(sequence_not_recovered, told), found(gave_up, told)) == (
        [("sequence-not-recovered", 2)],
        [],
    )


@pytest.mark.parametrize(("acked_ms", "has_ended"), [(300, True), (900, False)])
def test_a_producer_that_acknowledges_records_much_later_has_not_ended(story, acked_ms, has_ended):
    """Nothing is handed over after the refusal; record 2 is acknowledged in another partition."""
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
def test_a_batch_that_a_broker_has_forgotten_fails_over_a_right_sequence(story, is_lost):
    """Answers to later batches come, and that to the first one does not, or does; then it is sent again and refused."""
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


def test_a_limit_that_fits_nothing_says_nothing_of_another_time(story):
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
