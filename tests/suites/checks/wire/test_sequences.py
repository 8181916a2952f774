"""Sequences: one per batch, consecutive from 0, kept by a retry."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.model.rows import Disposition, Frame, FrameKind
from harness.model.verdicts import Guarantee
from harness.plugins.check import Inconclusive
from suites.checks.wire import sequence_chain, sequence_reused
from testkit.codes import raises_code
from tests.suites.story import ns

REUSED, CHAIN = sequence_reused.CHECK, sequence_chain.CHECK
TOO_LARGE, NOT_ENOUGH_REPLICAS, OUT_OF_ORDER, TIMED_OUT = 10, 19, 45, 7


def at(base, epoch=0):
    return (7, epoch, base)


def reused(told):
    return [finding.count for finding in REUSED.run(told.evidence())]


def lost_behind_a_reuse(told):
    """Batch 0, 1 is stored, and its response is lost. Batch 2, 3 gets its sequence and offsets, and is not stored."""
    told.call(0, 1)
    told.request([0, 1], 0, at_ms=10, sequence=at(0))
    told.append([0, 1], 0, producer_id=7, producer_epoch=0, sequence=0)
    told.close(1, at_ms=20)
    told.call(2, 3, at_ms=25)
    told.request([2, 3], 0, at_ms=30, conn=2, sequence=at(0))
    told.answer(0, 0, at_ms=31, conn=2)
    told.result(2, at_ms=32, offset=0)
    told.result(3, at_ms=32, offset=1)
    return told


def stored_again(told):
    """The first batch gets the next sequence, and is stored a second time."""
    told.request([0, 1], 0, at_ms=40, conn=2, sequence=at(2))
    told.append([0, 1], 0, producer_id=7, producer_epoch=0, sequence=2, batch_crc=99)
    told.answer(0, 2, at_ms=41, conn=2)
    told.result(0, at_ms=42, offset=2)
    told.result(1, at_ms=42, offset=3)
    return told


@given(data=st.data())
def test_faithful_trial_is_never_accused(faithful_numbered, data):
    evidence = data.draw(faithful_numbered).evidence()

    assert REUSED.run(evidence) == CHAIN.run(evidence) == []


def test_sequence_of_two_batches_is_reused(numbered):
    (finding,) = REUSED.run(stored_again(lost_behind_a_reuse(numbered())).evidence())

    assert (finding.anomaly, finding.count, finding.level) == ("sequence-reused", 1, "MUST")
    assert finding.samples[0]["base_sequence"] == 0
    assert finding.samples[0]["how"] == "records are acknowledged where the log has others"


def test_consequences_of_a_reuse_are_reported_with_it(numbered):
    (finding,) = REUSED.run(stored_again(lost_behind_a_reuse(numbered())).evidence())

    assert finding.explains == ("duplicate", "lost", "sequence-changed")


@pytest.mark.parametrize(
    ("partition", "identity", "explained"),
    [(0, (7, 1, 0), True), (0, (7, 0, 2), True), (0, (8, 0, 0), False), (1, (7, 1, 0), False)],
)
def test_second_copy_in_a_later_epoch_follows_from_a_reuse(numbered, partition, identity, explained):
    """The reuse breaks the sequence, which starts again."""
    told = lost_behind_a_reuse(numbered())
    for n in (20, 21):
        told.call(n, at_ms=35)
    producer_id, epoch, base = identity
    for base_ in (base, base + 2):
        told.append([20, 21], partition, producer_id=producer_id, producer_epoch=epoch, sequence=base_)

    (finding,) = REUSED.run(told.evidence())
    assert ("duplicate" in finding.explains) == explained


@pytest.mark.parametrize(
    ("partition", "spoilt", "explained"), [(0, "", True), (1, "", False), (0, "x", False)]
)
def test_wrong_offsets_follow_from_a_reuse(numbered, partition, spoilt, explained):
    """The broker responds with the offset of the earlier batch. A damaged value is a separate cause."""
    told = lost_behind_a_reuse(numbered())
    told.call(20, at_ms=35)
    told.append([20], partition, producer_id=9, producer_epoch=0, sequence=0)
    told.result(20, at_ms=60, partition=partition, offset=77)
    if spoilt:
        told.log[0] = replace(told.log[0], value=spoilt)

    (finding,) = REUSED.run(told.evidence())
    assert ("corrupted" in finding.explains) == explained


def test_reuse_explains_nothing_in_another_partition(numbered):
    told = lost_behind_a_reuse(numbered())
    told.call(9, at_ms=50)
    told.result(9, at_ms=60, partition=1, offset=0)

    (finding,) = REUSED.run(told.evidence())
    assert finding.explains == ()


def test_reuse_explains_nothing_before_it(numbered):
    told = numbered()
    told.call(8)
    told.result(8, at_ms=5, offset=40)

    (finding,) = REUSED.run(lost_behind_a_reuse(told).evidence())
    assert finding.explains == ()


def test_batch_that_is_encoded_again_is_the_same_batch(numbered, changed_last):
    told = numbered()
    told.call(0, 1)
    told.request([0, 1], 0, at_ms=10, sequence=at(0))
    told.append([0, 1], 0, producer_id=7, producer_epoch=0, sequence=0)
    told.close(1, at_ms=20)
    told.request([0, 1], 0, at_ms=30, conn=2, sequence=at(0))
    changed_last(told, crc=4711, first_timestamp_ms=77)
    told.answer(0, 0, at_ms=31, conn=2)
    told.result(0, at_ms=32, offset=0)
    told.result(1, at_ms=32, offset=1)

    assert reused(told) == []


def test_batch_of_another_size_is_another_batch(numbered):
    told = numbered()
    told.call(0, 1, 2)
    told.request([0, 1], 0, at_ms=10, sequence=at(0))
    told.request([0, 1, 2], 0, at_ms=30, conn=2, sequence=at(0))

    assert reused(told) == [1]


def test_overlapping_sequences_are_reused(numbered):
    told = numbered()
    told.call(0, 1, 2, 3)
    told.request([0, 1], 0, at_ms=10, sequence=at(0))
    told.request([2, 3], 0, at_ms=30, sequence=at(1))

    assert reused(told) == [1]


def test_batch_with_younger_records_is_another_batch(numbered):
    """The first never reached the log. The one in the log has a record that was created after the first was sent."""
    told = numbered()
    told.call(0)
    told.request([0], 0, at_ms=10, sequence=at(0))
    told.call(1, at_ms=20)
    told.request([1], 0, at_ms=30, conn=2, sequence=at(0))
    told.append([1], 0, producer_id=7, producer_epoch=0, sequence=0)

    assert reused(told) == [1]


def test_stopped_request_had_its_sequence(numbered):
    told = numbered()
    told.call(0, 1, 2)
    told.request([0, 1], 0, at_ms=10, sequence=at(0))
    told.request([2], 0, at_ms=30, sequence=at(0))
    evidence = told.evidence()
    first = next(frame for frame in evidence.frames if frame.produce)
    passed = tuple(frame for frame in evidence.frames if frame is not first)
    hidden = replace(first, disposition=Disposition.BLOCKED)

    found = REUSED.run(type(evidence)(**{**vars_of(evidence), "frames": passed, "blocked_frames": (hidden,)}))
    assert [finding.count for finding in found] == [1]


def vars_of(evidence):
    names = ("record", "history", "frames", "faults", "log")
    return {name: getattr(evidence, name) for name in names}


@pytest.mark.parametrize(("error_code", "count"), [(NOT_ENOUGH_REPLICAS, []), (TIMED_OUT, [1]), (0, [1])])
def test_definitely_rejected_batch_frees_its_sequence(numbered, error_code, count):
    told = numbered()
    told.call(0, 1, 2)
    told.request([0, 1], 0, at_ms=10, sequence=at(0))
    told.answer(0, 0 if error_code == 0 else -1, at_ms=11, error_code=error_code)
    told.request([2], 0, at_ms=30, sequence=at(0))

    assert reused(told) == count


def test_later_rejection_frees_nothing(numbered):
    told = numbered()
    told.call(0, 1, 2)
    told.request([0, 1], 0, at_ms=10, sequence=at(0))
    told.request([2], 0, at_ms=30, conn=2, sequence=at(0))
    told.correlation -= 1
    told.answer(0, -1, at_ms=40, error_code=NOT_ENOUGH_REPLICAS)

    assert reused(told) == [1]


def test_parts_of_a_split_batch_have_its_sequences(numbered):
    told = numbered()
    told.call(0, 1, 2, 3)
    told.request([0, 1, 2, 3], 0, at_ms=10, sequence=at(0))
    told.close(1, at_ms=15)
    told.request([0, 1, 2, 3], 0, at_ms=20, conn=2, sequence=at(0))
    told.answer(0, -1, at_ms=21, conn=2, error_code=TOO_LARGE)
    told.request([0, 1], 0, at_ms=30, conn=2, sequence=at(0))
    told.request([2, 3], 0, at_ms=31, conn=2, sequence=at(2))

    assert reused(told) == []
    assert CHAIN.run(told.evidence()) == []


def test_parts_are_sent_after_the_rejection(numbered):
    """A batch sent before the client knows of the rejection cannot be one of its parts."""
    told = numbered()
    told.call(0, 1, 2, 3)
    told.request([0, 1, 2, 3], 0, at_ms=10, sequence=at(0))
    first = told.correlation
    told.request([0, 1], 0, at_ms=20, conn=2, sequence=at(0))
    told.correlation = first
    told.answer(0, -1, at_ms=30, error_code=TOO_LARGE)

    assert reused(told) == [1]


def test_new_epoch_begins_at_0(numbered):
    told = numbered()
    told.call(0, 1)
    told.request([0], 0, at_ms=10, sequence=at(0))
    told.close(1, at_ms=20)
    told.request([1], 0, at_ms=30, conn=2, sequence=at(0, epoch=1))

    assert reused(told) == []
    assert CHAIN.run(told.evidence()) == []


def test_doubt_is_the_situation(numbered):
    told = numbered()
    told.call(0)
    told.deliver([0], 0, at_ms=10)
    (requirement,) = REUSED.requirements
    assert requirement.arises(told.evidence()) == 0

    assert requirement.arises(lost_behind_a_reuse(numbered()).evidence()) == 1


def chain_of(told):
    return [(finding.anomaly, finding.requirement, finding.count) for finding in CHAIN.run(told.evidence())]


def skipping(told):
    told.call(0, 1, 2)
    told.request([0], 0, at_ms=10, sequence=at(0))
    told.request([1, 2], 0, at_ms=30, sequence=at(3))
    return told


def answered(told, *numbers):
    for n in numbers:
        told.result(n, at_ms=50, offset=n)
    return told


def test_skipped_numbers_are_missing(numbered):
    assert chain_of(answered(skipping(numbered()), 0, 1, 2)) == [("sequence-gap", "PRD-IDM-02", 2)]


def test_sequence_that_does_not_begin_at_0_is_found(numbered):
    told = numbered()
    told.call(0)
    told.request([0], 0, at_ms=10, sequence=at(4))

    assert chain_of(answered(told, 0)) == [("sequence-gap", "PRD-IDM-02", 4)]


OUT_OF_ORDER = 45
LEFT_OUT = [("sequence-gap", "PRD-IDM-02", 1)]


@pytest.mark.parametrize(
    ("code", "first", "then", "found"),
    [
        (OUT_OF_ORDER, 0, 1, []),
        (OUT_OF_ORDER, 2, 1, LEFT_OUT),
        (OUT_OF_ORDER, 3, 1, []),
        (7, 2, 1, []),
        (OUT_OF_ORDER, 1, 1, []),
    ],
    ids=["overlap", "gap", "the rest came later", "refused otherwise", "next"],
)
def test_rejected_batch_with_a_gap_shows_the_records_that_get_the_numbers(numbered, code, first, then, found):
    """Two records are sent under ``first``, rejected, and sent under ``then``. The next number is 1."""
    told = numbered()
    told.call(0, 1, 2)
    told.request([0], 0, at_ms=10, sequence=at(0))
    told.request([1, 2], 0, at_ms=20, sequence=at(first))
    told.answer(0, -1, at_ms=21, error_code=code)
    told.request([1, 2], 0, at_ms=30, sequence=at(then))

    assert chain_of(answered(told, 0, 1, 2)) == found


@pytest.mark.parametrize(("given_up", "found"), [(2, []), (1, [("sequence-gap", "PRD-IDM-02", 2)])])
def test_as_many_numbers_may_be_missing_as_records_were_given_up(numbered, given_up, found):
    told = answered(skipping(numbered()), 0, 1, 2)
    told.call(*range(10, 10 + given_up))
    for n in range(10, 10 + given_up):
        told.result(n, at_ms=55, outcome="info", error="late")

    assert chain_of(told) == found


def test_records_of_another_partition_explain_no_gap(numbered):
    told = answered(skipping(numbered()), 0, 1, 2)
    told.call(10, 11)
    for n in (10, 11):
        told.result(n, at_ms=55, partition=1, outcome="info", error="late")

    assert chain_of(told) == [("sequence-gap", "PRD-IDM-02", 2)]


def test_records_called_later_explain_no_gap(numbered):
    told = answered(skipping(numbered()), 0, 1, 2)
    told.call(10, 11, at_ms=60)
    for n in (10, 11):
        told.result(n, at_ms=65, outcome="info", error="late")

    assert chain_of(told) == [("sequence-gap", "PRD-IDM-02", 2)]


def test_unread_bytes_to_another_broker_explain_no_gap(numbered):
    told = answered(skipping(numbered()), 0, 1, 2)
    told.frames.append(Frame(t_ns=ns(45), lane=0, broker=2, conn=1, kind=FrameKind.OPAQUE))

    assert chain_of(told) == [("sequence-gap", "PRD-IDM-02", 2)]


def test_unreadable_frame_may_have_had_the_numbers(numbered):
    told = answered(skipping(numbered()), 0, 1, 2)
    told.frames.append(Frame(t_ns=5_000_020_000_000, lane=0, broker=1, conn=1, kind=FrameKind.OPAQUE))

    with raises_code(Inconclusive, "frames-unreadable", count=1):
        CHAIN.run(told.evidence())


def test_renumbered_retry_is_stored_twice(numbered):
    told = stored_again(lost_behind_a_reuse(numbered()))

    assert chain_of(told) == [("sequence-changed", "PRD-IDM-03", 2)]


@given(data=st.data())
def test_sequence_taken_from_another_batch_is_found(faithful_numbered, data, changed_last):
    """Batches of two sizes. The later one takes the number of the earlier one."""
    told = data.draw(faithful_numbered)
    requests = [frame for frame in told.frames if frame.produce and frame.kind is FrameKind.REQUEST]
    first = data.draw(st.sampled_from(requests)).produce[0]
    size = data.draw(st.integers(1, 5))
    assume(size != first.records)
    told.call(*range(100, 100 + size), at_ms=50_000)
    told.request(
        list(range(100, 100 + size)), first.partition, at_ms=50_001, conn=99, sequence=at(first.base_sequence)
    )
    refused = all(
        frame.error_codes for frame in told.frames if frame.kind is FrameKind.RESPONSE and frame.produce
    )
    assume(not refused)

    assert sum(reused(told)) >= 1


def test_without_idempotence_there_are_no_sequences():
    assert Guarantee.AT_LEAST_ONCE not in REUSED.guarantees | CHAIN.guarantees
