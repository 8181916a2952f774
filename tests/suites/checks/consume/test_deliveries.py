"""What members are given: passed over, out of order, again, from elsewhere, and without owning it."""

from __future__ import annotations

from dataclasses import replace as changed

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.model.consumer_contract import RecordsConsumed
from harness.model.verdicts import Guarantee
from harness.plugins.check import Inconclusive
from harness.wire.apis import Api
from suites.checks.consume import delivery_order, foreign_record, not_owned, redelivered, skipped


def found(module, told):
    """Return code and count of each finding."""
    return [(each.anomaly, each.count) for each in module.CHECK.run(told.evidence())]


def without(told, partition, offset):
    """Leave one record out of the story's deliveries."""
    for at, event in enumerate(told.events):
        if isinstance(event, RecordsConsumed):
            (part,) = event.partitions
            if part.partition == partition and offset in part.offsets:
                index = part.offsets.index(offset)
                offsets = part.offsets[:index] + part.offsets[index + 1 :]
                values = part.values[:index] + part.values[index + 1 :]
                kept = replace(part, offsets=offsets, values=values, count=len(offsets))
                told.events[at] = replace(event, partitions=[kept])
    return told


@given(st.integers(0, 1), st.integers(0, 4))
def test_record_that_the_group_passed_is_skipped(calm, partition, offset):
    assert found(skipped, without(calm(), partition, offset)) == [("skipped", 1)]


@pytest.mark.parametrize("reset", ["latest", "none"])
@given(st.integers(0, 1), st.integers(0, 4))
def test_group_that_may_begin_later_must_deliver_what_follows_its_first_commit(
    calm, reset, partition, offset
):
    told = without(calm(), partition, offset)
    told.config["auto.offset.reset"] = reset
    assert found(skipped, told) == ([("skipped", 1)] if offset >= 3 else [])


@given(st.integers(0, 1), st.sampled_from([1, 4]))
def test_record_left_out_within_one_ownership_is_a_gap(calm, partition, offset):
    assert found(delivery_order, without(calm(), partition, offset)) == [("gap", 1)]


@pytest.mark.parametrize(
    ("guarantee", "features", "committed", "failed_ms", "is_excused"),
    [
        (Guarantee.AT_MOST_ONCE, ["group"], 3, 250, True),
        (Guarantee.AT_MOST_ONCE, ["group"], 2, 250, False),  # the record is not among those of the commit
        (
            Guarantee.AT_MOST_ONCE,
            ["group"],
            3,
            150,
            False,
        ),  # it failed before the records in between were given
        (Guarantee.AT_MOST_ONCE, ["group"], 3, 450, False),
        (Guarantee.AT_MOST_ONCE, ["group", "seek"], 3, 250, False),
        (Guarantee.AT_LEAST_ONCE, ["group"], 3, 250, False),
    ],
)
def test_records_that_an_application_dropped_are_no_gap(
    group, guarantee, features, committed, failed_ms, is_excused
):
    told = group()
    told.guarantee = guarantee
    told.start("m1")
    told.write(5, 0)
    told.assign("m1", 0, at_ms=10)
    told.take("m1", 0, 0, 1, at_ms=200)
    told.commit("m1", 0, committed, at_ms=failed_ms, success=False)
    told.take("m1", 0, 3, 4, at_ms=400)
    evidence = told.evidence()
    evidence = changed(evidence, record=replace(evidence.record, client={"features": features}))
    accused = [(each.anomaly, each.count) for each in delivery_order.CHECK.run(evidence)]
    assert accused == ([] if is_excused else [("gap", 1)])


def test_last_record_is_not_skipped_unless_it_was_committed(calm):
    told = without(calm(), 0, 5)
    assert found(skipped, told) == [("skipped", 1)]
    told.stored(p0=5, p1=6)
    assert found(skipped, told) == [("skipped", 1)]  # the first answer of the coordinator counts too


@given(st.integers(3, 5))
def test_record_given_again_to_the_same_owner_is_out_of_order(calm, offset):
    told = calm()
    told.take("m2", 1, offset, at_ms=5_000)
    assert found(delivery_order, told) == [("delivered-again-or-backwards", 1)]


def test_owner_that_has_sought_may_read_again(calm):
    told = calm()
    told.sought("m2", 4_900)
    told.take("m2", 1, 3, 4, at_ms=5_000)
    assert found(delivery_order, told) == []


def test_record_taken_before_a_seek_and_reported_after_it_belongs_to_the_old_position(calm):
    told = calm()
    told.sought("m2", 4_900)
    told.take("m2", 1, 5, at_ms=4_800, took_ms=150)
    told.take("m2", 1, 3, 4, at_ms=5_000)
    assert found(delivery_order, told) == [
        ("delivered-again-or-backwards", 1)
    ]  # 5 came twice before the seek
    told = without(told, 1, 5)
    told.take("m2", 1, 5, at_ms=4_800, took_ms=150)
    told.take("m2", 1, 3, at_ms=5_100)
    assert found(delivery_order, told) == [("delivered-again-or-backwards", 1)]  # 3 came twice after it


@given(st.integers(0, 1_598))
def test_record_taken_before_an_assignment_and_reported_after_it_is_not_of_this_owner(calm, at_ms):
    told = calm()
    told.take("m1", 0, 5, at_ms=at_ms, took_ms=1_601 - at_ms)
    assert found(delivery_order, told) == []
    told.take("m1", 0, 0, at_ms=at_ms, took_ms=1_601 - at_ms)
    assert found(redelivered, told) == []


def test_record_taken_after_an_assignment_is_of_this_owner(calm):
    told = calm()
    told.take("m1", 0, 5, at_ms=1_600, took_ms=1)
    assert found(delivery_order, told) == [("delivered-again-or-backwards", 1)]


def test_subscription_that_returns_after_the_assignment_hides_no_redelivery(calm):
    told = calm()
    told.done("subscribe", "m2", 1_700)
    told.take("m2", 1, 0, at_ms=3_000)
    assert found(redelivered, told) == [("redelivered", 1)]


def reset(calm, from_offset, at_ms=5_200, config="earliest"):
    """m2 has read partition 1 to its end and begins again, while a fault answers that its position is out of range."""
    told = calm()
    told.config["auto.offset.reset"] = config
    told.fault("error_response", 5_000, 5_100, api=Api.FETCH, code=1)
    told.take("m2", 1, *range(from_offset, 6), at_ms=at_ms)
    return told


@pytest.mark.parametrize(
    ("from_offset", "at_ms", "is_excused"), [(0, 5_200, True), (3, 5_200, False), (0, 4_900, False)]
)
def test_owner_whose_position_is_out_of_range_may_begin_with_the_first_record(
    calm, from_offset, at_ms, is_excused
):
    told = reset(calm, from_offset, at_ms)
    assert (found(delivery_order, told) == []) is is_excused
    assert (found(redelivered, told) == []) is (is_excused or from_offset >= 3)


def test_other_errors_move_no_position(calm):
    told = reset(calm, 0)
    told.faults.clear()
    told.fault("error_response", 5_000, 5_100, api=Api.FETCH, code=6)
    assert found(delivery_order, told) == [("delivered-again-or-backwards", 1)]


@pytest.mark.parametrize(("config", "is_excused"), [("earliest", False), ("latest", True)])
def test_records_between_two_positions_are_left_out_only_if_the_new_one_may_be_the_end(
    calm, config, is_excused
):
    told = without(calm(), 1, 4)
    told.config["auto.offset.reset"] = config
    told.fault("log_trim", 3_000, 3_100)
    assert (found(delivery_order, told) == []) is is_excused


@given(st.integers(0, 2))
def test_record_committed_before_the_owner_was_assigned_is_redelivered(calm, offset):
    told = calm()
    told.take("m2", 1, offset, at_ms=3_000)
    assert found(redelivered, told) == [("redelivered", 1)]
    told.guarantee = Guarantee.AT_MOST_ONCE
    assert found(redelivered, told) == [("processed-again", 1)]


def test_record_that_was_not_committed_may_come_again(group):
    told = group()
    told.start("m1", "m2")
    told.write(3, 0)
    told.assign("m1", 0, at_ms=10)
    told.take("m1", 0, 0, 1, 2, at_ms=20)
    told.commit("m1", 0, 2, at_ms=40)
    told.commit("m1", 0, 3, at_ms=50, success=False)
    told.revoke("m1", 0, at_ms=100)
    told.assign("m2", 0, at_ms=200)
    told.take("m2", 0, 2, at_ms=300)
    assert found(redelivered, told) == []


def test_commit_that_was_set_back_is_an_excuse(group):
    def told(lower_at_ms):
        story = group()
        story.start("m1", "m2")
        story.write(3, 0)
        story.assign("m1", 0, at_ms=10)
        story.take("m1", 0, 0, 1, 2, at_ms=20)
        story.commit("m1", 0, 3, at_ms=50)
        story.commit("m1", 0, 1, at_ms=lower_at_ms, success=False)
        story.revoke("m1", 0, at_ms=100)
        story.assign("m2", 0, at_ms=200)
        story.take("m2", 0, 1, 2, at_ms=300)
        return story

    assert found(redelivered, told(60)) == []  # it may have been stored after the other one
    assert found(redelivered, told(250)) == [("redelivered", 2)]  # it came after the assignment


def test_record_with_another_content_is_foreign(calm):
    told = calm()
    told.take("m2", 1, 5, at_ms=5_000, value=told.log[0].value)
    assert found(foreign_record, told) == [("foreign-record", 1)]


@given(st.integers(6, 2**62))
def test_record_beyond_the_log_is_foreign(calm, offset):
    told = calm()
    told.take("m2", 1, offset, at_ms=5_000, value="x")
    assert found(foreign_record, told) == [("foreign-record", 1)]


def test_trimmed_records_are_not_foreign(calm):
    told = calm()
    told.log = [row for row in told.log if row.partition == 0 and row.offset > 1]
    assert found(foreign_record, told) == [("foreign-record", 8)]
    told.fault("log_trim", 5_000, 5_100)
    assert found(foreign_record, told) == []
    told.take("m1", 0, 4, at_ms=5_000, value="x")
    assert found(foreign_record, told) == [("foreign-record", 1)]


@given(st.integers(2_501, 6_000))
def test_record_of_a_revoked_partition_is_not_owned(calm, at_ms):
    told = calm()
    told.take("m1", 1, 3, at_ms=at_ms)
    assert found(not_owned, told) == [("not-owned", 1)]


@given(st.integers(1_500, 2_499))
def test_two_threads_of_a_process_may_report_within_a_second(calm, at_ms):
    told = calm()
    told.take("m1", 1, 3, at_ms=at_ms)
    assert found(not_owned, told) == []


def test_process_that_was_assigned_nothing_owns_nothing(calm):
    told = calm()
    told.start("m3", at_ms=1_000)
    told.assign("m3", at_ms=1_600, generation=2)
    told.take("m3", 1, 3, at_ms=4_000)
    assert found(not_owned, told) == [("not-owned", 1)]


def test_process_without_a_listener_owns_nothing_and_is_not_judged(group):
    told = group()
    told.start("m1")
    told.write(3, 0)
    told.take("m1", 0, 0, 1, 2, at_ms=100)
    assert found(not_owned, told) == []


def test_time_in_which_the_process_was_frozen_does_not_count(calm):
    told = calm()
    told.freeze("m1", 1_600, 4_000)
    told.take("m1", 1, 3, at_ms=4_200)
    assert found(not_owned, told) == []
    told.take("m1", 1, 4, at_ms=5_000)
    assert found(not_owned, told) == [("not-owned", 1)]


def test_stalled_process_is_not_accused(calm):
    told = calm()
    told.silent.add("m1")
    told.take("m1", 1, 3, at_ms=5_000)
    evidence = told.evidence()
    assert (
        not_owned.CHECK.run(evidence)[0].count == 1
    )  # a client without heartbeats cannot be excused by them
    beats = calm()
    beats.take("m1", 1, 3, at_ms=5_000)
    with pytest.raises(Inconclusive):
        not_owned.CHECK.run(replace_beats(beats.evidence(), "m1", 1_500, 5_000))


def replace_beats(evidence, member, begin_ms, end_ms):
    """Leave out the heartbeats of a member between two times."""
    from dataclasses import replace as changed

    from harness.model.contract import Stats
    from tests.suites.checks.consume.group_story import ns

    kept = tuple(
        event
        for event in evidence.history
        if not (
            isinstance(event, Stats)
            and event.producer == member
            and ns(begin_ms) < event.mono_ns < ns(end_ms)
        )
    )
    return changed(evidence, history=kept)
