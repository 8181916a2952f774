"""What members ask when they commit and when they look for stored offsets, in stories of frames."""

from __future__ import annotations

import pytest

from harness.model.consumer_rows import MemberPart, OffsetPart
from harness.model.verdicts import Guarantee
from suites.checks.consume_wire import (
    commit_given_up,
    commit_identity,
    coordinator_not_sought,
    stored_offset_overlooked,
)
from tests.suites.checks.consume_wire.commit_story import CommitStory, arises, found
from tests.suites.story import TOPIC

LOADING, NO_COORDINATOR, MOVED, REBALANCING, UNSTABLE = 14, 15, 16, 27, 88


@pytest.fixture
def wire():
    """Return the story of one member that commits what it reads."""
    told = CommitStory()
    told.start("m1")
    return told


@pytest.mark.parametrize(
    ("generation", "member_id", "code"),
    [(0, "", ["commit-of-a-generation"]), (-1, "m", ["commit-of-a-member"]), (-1, "", [])],
)
def test_consumer_without_subscription_names_no_member(wire, generation, member_id, code):
    wire.call("assign", "m1", 0)
    wire.commit_request("m1", 100, {0: 3}, epoch=generation, member_id=member_id)
    assert found(commit_identity, wire) == [(each, 1) for each in code]
    assert arises(commit_identity, wire) == 1


def test_member_of_a_group_names_itself(wire):
    wire.call("subscribe", "m1", 0)
    wire.commit_request("m1", 100, {0: 3}, epoch=4, member_id="m")
    assert found(commit_identity, wire) == []
    assert arises(commit_identity, wire) == 0


def test_consumer_that_subscribed_before_is_not_judged(wire):
    wire.call("subscribe", "m1", 0)
    wire.call("assign", "m1", 50)
    wire.commit_request("m1", 100, {0: 3}, epoch=4, member_id="m")
    assert found(commit_identity, wire) == []


def test_frame_that_cannot_be_read_leaves_it_undecided(wire):
    wire.call("assign", "m1", 0)
    wire.commit_request("m1", 100, {0: 3}, epoch=0)
    wire.ask("m1", "Fetch", 200, asks={"note": "body not read: too new"})
    assert found(commit_identity, wire) == "inconclusive"


# Commits of the application


def sync(wire, code, *, tries=1, lasts_ms=20, error=True):
    """A synchronous commit is refused ``tries`` times, and fails."""
    for number in range(tries):
        wire.commit_request("m1", 1_001 + number * lasts_ms / (tries + 1), {0: 3}, code=code)
    wire.commit("m1", 0, 3, 1_000, took_ms=lasts_ms, success=not error)


@pytest.mark.parametrize("code", [LOADING, NO_COORDINATOR, MOVED])
def test_synchronous_commit_that_fails_at_its_first_refusal_is_given_up(wire, code):
    sync(wire, code)
    assert found(commit_given_up, wire) == [("commit-given-up", 1)]


def test_synchronous_commit_may_fail_at_its_limit(wire):
    sync(wire, MOVED, tries=9, lasts_ms=9_500)
    assert found(commit_given_up, wire) == []
    assert arises(commit_given_up, wire) == 1


def test_synchronous_commit_that_succeeds_in_the_end_is_not_given_up(wire):
    sync(wire, MOVED, tries=2, error=False)
    assert found(commit_given_up, wire) == []


@pytest.mark.parametrize(("tries", "expected"), [(1, [("commit-given-up", 1)]), (2, [])])
def test_client_without_a_limit_has_to_try_twice(wire, tries, expected):
    wire.not_set["default.api.timeout.ms"] = "there is none"
    sync(wire, MOVED, tries=tries)
    assert found(commit_given_up, wire) == expected


@pytest.mark.parametrize("code", [0, 25, REBALANCING, 12])
def test_other_errors_need_no_repetition(wire, code):
    sync(wire, code)
    assert found(commit_given_up, wire) == []


def test_commit_that_was_not_answered_in_time_is_not_judged(wire):
    wire.commit_request("m1", 1_001, {0: 3}, code=MOVED, took_ms=500)
    wire.commit("m1", 0, 3, 1_000, took_ms=20, success=False)
    assert found(commit_given_up, wire) == []


@pytest.mark.parametrize("api", ["JoinGroup", "SyncGroup", "LeaveGroup"])
def test_commit_during_a_rebalance_is_not_judged(wire, api):
    wire.ask("m1", api, 1_010)
    sync(wire, MOVED)
    assert found(commit_given_up, wire) == []


def test_commit_of_a_member_that_was_removed_is_not_judged(wire):
    wire.ask("m1", "Heartbeat", 1_010, code=25)
    sync(wire, MOVED)
    assert found(commit_given_up, wire) == []


def test_commit_of_a_member_that_closes_is_not_judged(wire):
    wire.close("m1", 1_010)
    sync(wire, MOVED)
    assert found(commit_given_up, wire) == []


def test_commit_of_a_frozen_process_is_not_judged(wire):
    sync(wire, MOVED)
    wire.freeze("m1", 1_005, 1_015)
    assert found(commit_given_up, wire) == []


@pytest.mark.parametrize(
    ("second_ms", "expected"), [(1_200, [("commit-repeated-by-itself", 1)]), (1_001, [])]
)
def test_asynchronous_commit_is_not_repeated_after_its_refusal(wire, second_ms, expected):
    """A second request counts only if the client can have sent it after the answer."""
    wire.commit_request("m1", 1_001, {0: 3}, code=MOVED)
    wire.commit_request("m1", second_ms, {0: 3})
    wire.commit("m1", 0, 3, 1_000, took_ms=400, how="async")
    assert found(commit_given_up, wire) == expected
    assert arises(commit_given_up, wire) == 1


def test_two_commits_of_the_same_offsets_are_not_one(wire):
    wire.commit_request("m1", 1_001, {0: 3}, code=MOVED)
    wire.commit_request("m1", 1_200, {0: 3})
    wire.commit("m1", 0, 3, 1_000, took_ms=400, how="async")
    wire.commit("m1", 0, 3, 1_100, took_ms=400, how="async")
    assert found(commit_given_up, wire) == []


# Stored offsets


def lookup(wire, at_ms, *partitions, code=0, whole=False, offset=-1, version=8, said=("require_stable",)):
    """The member asks for stored offsets. An error is that of each partition, or of the whole answer."""
    told = () if whole else tuple(OffsetPart(TOPIC, each, offset, error_code=code) for each in partitions)
    wire.ask(
        "m1",
        "OffsetFetch",
        at_ms,
        code=code,
        asks={
            "members": (MemberPart(TOPIC, "m", 1, said=said),),
            "offsets": tuple(OffsetPart(TOPIC, each) for each in partitions),
            "api_version": version,
        },
        tells={"members": (MemberPart(TOPIC, error_code=code if whole else 0),), "offsets": told},
    )


def fetch(wire, at_ms, *partitions):
    wire.ask("m1", "Fetch", at_ms, asks={"offsets": tuple(OffsetPart(TOPIC, each, 0) for each in partitions)})


@pytest.mark.parametrize(
    ("code", "whole"), [(LOADING, True), (MOVED, True), (MOVED, False), (UNSTABLE, False)]
)
def test_member_that_reads_after_a_refusal_has_overlooked_it(wire, code, whole):
    lookup(wire, 100, 0, 1, code=code, whole=whole)
    fetch(wire, 200, 0, 1)
    assert found(stored_offset_overlooked, wire) == [("stored-offset-overlooked", 2)]
    assert arises(stored_offset_overlooked, wire) == 2


def test_member_that_asks_again_has_not_overlooked_it(wire):
    lookup(wire, 100, 0, code=MOVED, whole=True)
    lookup(wire, 300, 0)
    fetch(wire, 400, 0)
    assert found(stored_offset_overlooked, wire) == []


def test_answer_counts_for_its_own_partitions(wire):
    lookup(wire, 100, 0, 1, code=UNSTABLE)
    lookup(wire, 300, 1)
    fetch(wire, 400, 0, 1)
    assert found(stored_offset_overlooked, wire) == [("stored-offset-overlooked", 1)]


def test_partition_that_was_read_before_is_not_judged(wire):
    fetch(wire, 50, 0)
    lookup(wire, 100, 0, code=MOVED, whole=True)
    fetch(wire, 200, 0)
    assert found(stored_offset_overlooked, wire) == []


def test_position_of_the_application_is_one(wire):
    lookup(wire, 100, 0, code=MOVED, whole=True)
    wire.sought("m1", 150)
    fetch(wire, 200, 0)
    assert found(stored_offset_overlooked, wire) == []


def test_final_refusal_is_not_judged(wire):
    lookup(wire, 100, 0, code=30, whole=True)
    fetch(wire, 200, 0)
    assert found(stored_offset_overlooked, wire) == []


def test_fetch_that_was_sent_before_the_refusal_is_not_judged(wire):
    lookup(wire, 100, 0, code=MOVED, whole=True)
    wire.fault("partition", 50, 5_000, upstream=0)
    fetch(wire, 200, 0)
    assert found(stored_offset_overlooked, wire) == []


@pytest.mark.parametrize(
    ("version", "said", "expected"),
    [(7, (), [("unstable-offset-asked-for", 1)]), (7, ("require_stable",), []), (6, (), [])],
)
def test_reader_of_committed_data_asks_for_stable_offsets(wire, version, said, expected):
    lookup(wire, 100, 0, version=version, said=said)
    assert found(stored_offset_overlooked, wire) == []
    wire.config["isolation.level"] = "read_committed"
    assert found(stored_offset_overlooked, wire) == expected
    assert arises(stored_offset_overlooked, wire) == (version >= 7)


@pytest.mark.parametrize("module", [commit_given_up, commit_identity, stored_offset_overlooked])
def test_check_judges_both_guarantees(module):
    assert module.CHECK.guarantees == {Guarantee.AT_LEAST_ONCE, Guarantee.AT_MOST_ONCE}


# Coordinators


@pytest.mark.parametrize(
    ("code", "expected"),
    [(MOVED, [("coordinator-not-sought", 1)]), (NO_COORDINATOR, [("unavailable-coordinator-asked", 1)])],
)
def test_broker_that_is_not_the_coordinator_is_not_asked_on(wire, code, expected):
    wire.commit_request("m1", 1_000, {0: 3}, code=code)
    wire.ask("m1", "Heartbeat", 2_000)
    assert found(coordinator_not_sought, wire) == expected


def test_refusal_that_counts_more_is_the_one_that_is_told(wire):
    wire.commit_request("m1", 1_000, {0: 3}, code=NO_COORDINATOR)
    wire.commit_request("m1", 1_001, {0: 3}, code=MOVED)
    wire.ask("m1", "Heartbeat", 2_000)
    assert found(coordinator_not_sought, wire) == [("coordinator-not-sought", 1)]


def test_member_that_seeks_its_coordinator_may_ask_the_same_broker(wire):
    wire.commit_request("m1", 1_000, {0: 3}, code=MOVED)
    wire.ask("m1", "FindCoordinator", 1_100)
    wire.ask("m1", "Heartbeat", 2_000)
    assert found(coordinator_not_sought, wire) == []
