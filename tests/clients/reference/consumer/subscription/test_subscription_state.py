"""SubscriptionState: what excludes what, what survives a new assignment, and what a commit covers."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.consumer.calls import Clock
from clients.reference.consumer.errors import NoOffsetForPartitionError
from clients.reference.consumer.subscription.positions import (
    FetchPosition,
    LeaderAndEpoch,
    OffsetAndMetadata,
)
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.reference.errors import IllegalStateError
from clients.reference.telemetry.trace import no_trace

A, B, C = ("t", 0), ("t", 1), ("u", 0)
partitions = st.lists(st.sampled_from([A, B, C]), unique=True)
LED = LeaderAndEpoch(1, 5)


def new(strategy="latest", trace=no_trace):
    return SubscriptionState(strategy, Clock(7), trace)


def assigned(*each, strategy="latest"):
    state = new(strategy)
    state.assign_from_user(each)
    return state


WAYS = {
    "topics": lambda s: s.subscribe(["t"]),
    "pattern": lambda s: s.subscribe_pattern(re.compile("t.*")),
    "partitions": lambda s: s.assign_from_user([A]),
}


@given(st.lists(st.sampled_from([*WAYS, "unsubscribe"]), max_size=8))
def test_the_ways_to_subscribe_exclude_each_other_until_unsubscribe(steps):
    """CSM-API-01."""
    state, way = new(), None
    for step in steps:
        if step == "unsubscribe":
            state.unsubscribe()
            way = None
            assert state.has_nothing and not state.assigned
        elif way in (None, step):
            WAYS[step](state)
            way = step
        else:
            with pytest.raises(IllegalStateError):
                WAYS[step](state)
        assert state.has_auto_assigned_partitions == (way in ("topics", "pattern"))
        assert state.is_user_assigned == (way == "partitions")


@given(partitions, partitions)
def test_a_partition_that_stays_assigned_keeps_its_state(first, second):
    state = new()
    state.subscribe(["t", "u"])
    state.assign_from_subscribed(first)
    for number, each in enumerate(first):
        state.seek(each, number)
        state.pause(each)
    before = state.assignment_id
    state.assign_from_subscribed(second)
    assert state.assignment_id > before
    assert state.assigned == second
    for each in second:
        assert state.position(each) == (FetchPosition(first.index(each)) if each in first else None)
        assert state.is_paused(each) == (each in first)


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.seek(B, 1),
        lambda s: s.position(B),
        lambda s: s.pause(B),
        lambda s: s.resume(B),
        lambda s: s.request_offset_reset(B),
        lambda s: s.lag(B, "read_committed"),
        lambda s: s.mark_pending_revocation([B]),
    ],
)
def test_a_partition_that_is_not_assigned_is_refused(call):
    """CSM-API-06."""
    with pytest.raises(IllegalStateError, match="t-1"):
        call(assigned(A))


@given(st.data())
def test_only_valid_positions_are_committed(data):
    """CSM-ACM-04."""
    state = assigned(A, B, C)
    expected = {}
    for number, each in enumerate((A, B, C), 1):
        kind = data.draw(st.sampled_from(["new", "read", "reset", "validate", "paused"]))
        if kind in ("read", "paused"):
            state.seek_unvalidated(each, FetchPosition(number, 3))
            expected[each] = OffsetAndMetadata(number, "", 3)
        elif kind == "reset":
            state.request_offset_reset(each)
        elif kind == "validate":
            state.seek_unvalidated(each, FetchPosition(number, 3, LED))
        if kind == "paused":
            state.pause(each)
    assert state.all_consumed() == expected


@given(st.permutations([A, B, C]), st.lists(st.sampled_from([A, B, C]), max_size=6))
def test_partitions_take_turns(order, read):
    state = assigned(*order)
    expected = list(order)
    for each in read:
        state.seek(each, 0)
        state.move_to_end(each)
        expected.append(expected.pop(expected.index(each)))
    assert state.assigned == expected
    assert state.fetchable() == [each for each in expected if each in read]


@pytest.mark.parametrize("restrict", ["pause", "revoke", "callback", "reset"])
def test_what_is_restricted_is_not_fetched(restrict):
    state = assigned(A, B)
    state.seek(A, 0)
    state.seek(B, 0)
    assert state.fetchable() == [A, B]
    assert state.fetchable(lambda each: each == B) == [B]
    {
        "pause": lambda: state.pause(A),
        "revoke": lambda: state.mark_pending_revocation([A]),
        "callback": lambda: state.set_pending_assigned_callback([A], True),
        "reset": lambda: state.request_offset_reset(A),
    }[restrict]()
    assert state.fetchable() == [B]


def test_a_lookup_applies_only_to_the_reset_that_asked_for_it():
    state = assigned(A)
    found = FetchPosition(9)
    state.maybe_seek_unvalidated(A, found, "earliest")
    assert state.position(A) is None
    state.request_offset_reset(A, "earliest")
    state.maybe_seek_unvalidated(A, found, "latest")
    assert state.needing_reset(0) == [A]
    state.seek(A, 3)
    state.maybe_seek_unvalidated(A, found, "earliest")
    assert state.position(A) == FetchPosition(3)
    state.request_offset_reset(A, "earliest")
    state.maybe_seek_unvalidated(A, found, "earliest")
    assert state.position(A) == found
    state.maybe_seek_unvalidated(B, found, "earliest")


def test_retries_of_lookups_wait_for_their_backoff():
    state = assigned(A, B)
    state.request_offset_reset(A)
    state.seek_unvalidated(B, FetchPosition(1, 1, LED))
    state.set_next_allowed_retry([A, B, C], 50)
    assert (state.needing_reset(49), state.needing_validation(49)) == ([], [])
    assert state.next_retry_ms() == 50
    assert (state.needing_reset(50), state.needing_validation(50)) == ([A], [B])


def test_without_a_policy_an_initializing_partition_is_an_error():
    """CSM-FET-11."""
    state = assigned(A, B, strategy="none")
    state.seek(B, 1)
    with pytest.raises(NoOffsetForPartitionError) as raised:
        state.reset_initializing()
    assert raised.value.partitions == (A,)
    state.reset_initializing(lambda each: each == B)
    with_policy = assigned(A)
    with_policy.reset_initializing()
    assert with_policy.needing_reset(0) == [A]


@pytest.mark.parametrize("strategy", ["latest", "none"])
@pytest.mark.parametrize(
    ("end", "epoch", "kind"), [(20, 4, "same"), (30, 5, "same"), (12, 3, "diverged"), (-1, -1, "unknown")]
)
def test_validation_compares_the_position_with_the_end_of_its_epoch(strategy, end, epoch, kind):
    """CSM-FET-07."""
    state = assigned(A, strategy=strategy)
    asked = FetchPosition(20, 4, LED)
    state.seek_unvalidated(A, asked)
    assert state.needing_validation(0) == [A] and state.valid_position(A) is None
    found = state.complete_validation(A, asked, end, epoch)
    if kind == "same":
        assert found is None and state.valid_position(A) == asked
    elif strategy == "none":
        assert found is not None and found.partition == A and found.position == asked
        assert found.divergent == ((12, 3) if kind == "diverged" else None)
        assert state.valid_position(A) is None
    elif kind == "diverged":
        assert found is None and state.valid_position(A) == FetchPosition(12, 3, LED)
    else:
        assert found is None and state.needing_reset(0) == [A]


def test_an_answer_about_another_position_validates_nothing():
    state = assigned(A)
    state.seek_unvalidated(A, FetchPosition(20, 4, LED))
    assert state.complete_validation(A, FetchPosition(19, 4, LED), 99, 4) is None
    assert state.needing_validation(0) == [A]
    assert state.complete_validation(B, FetchPosition(20, 4, LED), 99, 4) is None


def test_a_new_leader_requires_a_validation_unless_it_cannot_validate():
    state = assigned(A)
    state.seek_unvalidated(A, FetchPosition(20, 4))
    assert not state.maybe_validate_position(A, LeaderAndEpoch(None, 6))
    assert state.maybe_validate_position(A, LeaderAndEpoch(2, 6), None)
    assert not state.maybe_validate_position(A, LeaderAndEpoch(2, 7), False)
    assert state.valid_position(A) == FetchPosition(20, 4, LeaderAndEpoch(2, 7))
    assert not state.maybe_validate_position(B, LED)


def test_group_subscription_adds_topics_to_the_metadata_of_the_leader():
    state = new()
    state.subscribe(["t"])
    assert state.group_subscribe(["t", "u"])
    assert state.metadata_topics == {"t", "u"} and state.subscription == {"t"}
    assert not state.group_subscribe(["t"])
    state.reset_group_subscription()
    assert state.metadata_topics == {"t"}


def test_a_pattern_matches_whole_names():
    state = new()
    state.subscribe_pattern(re.compile("t|v"))
    assert state.matches_pattern("t") and not state.matches_pattern("tt")
    assert state.subscribe_from_pattern(["t"]) and not state.subscribe_from_pattern(["t"])
    assert state.matches_subscription([A]) and not state.matches_subscription([A, C])


def test_limits_of_the_log_give_lag_and_lead():
    state = assigned(A)
    assert state.lag(A, "read_uncommitted") is None and state.lead(A) is None
    state.seek(A, 10)
    state.update_high_watermark(A, 30)
    state.update_last_stable_offset(A, 25)
    state.update_log_start_offset(A, 4)
    state.update_high_watermark(B, 1)
    assert state.lag(A, "read_uncommitted") == 20
    assert state.lag(A, "read_committed") == 15
    assert state.lead(A) == 6


def test_a_preferred_replica_is_left_when_its_time_is_over():
    state = assigned(A)
    state.prefer_replica(A, 2, 100)
    state.prefer_replica(A, 2, 900)
    assert state.preferred_replica(A, 100) == 2
    assert state.preferred_replica(A, 101) is None
    state.prefer_replica(A, 3, 200)
    assert state.clear_preferred_replica(A) == 3
    assert state.preferred_replica(A, 0) is None and state.clear_preferred_replica(B) is None


def test_every_transition_is_traced_in_order():
    told = []
    state = new(trace=told.append)
    state.assign_from_user([A])
    state.seek_unvalidated(A, FetchPosition(4, 2, LED))
    state.request_offset_reset(A)
    assert [(each.subject, each.cause, each.after, each.at_ms) for each in told] == [
        ("t-0", "position", "FETCHING", 7),
        ("t-0", "validate", "AWAIT_VALIDATION", 7),
        ("t-0", "reset", "AWAIT_RESET", 7),
    ]
    assert all(one.after == other.before for one, other in pairwise(told))


def test_an_offset_to_commit_is_not_negative():
    with pytest.raises(IllegalStateError):
        OffsetAndMetadata(-1)
