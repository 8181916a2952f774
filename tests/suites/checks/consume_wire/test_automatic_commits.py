"""Automatic commits, in stories of frames: what they cover, when they come, and what follows a failure."""

from __future__ import annotations

import pytest

from harness.model.consumer_contract import ConsumerError
from harness.model.consumer_rows import OffsetPart
from harness.wire.apis import Api
from suites.checks.consume_wire import (
    auto_commit_early,
    auto_commit_failure,
    auto_commit_pace,
    commit_without_position,
)
from tests.suites.checks.consume_wire.commit_story import CommitStory, arises, found
from tests.suites.story import TOPIC

MOVED = 16


@pytest.fixture
def wire():
    """Return the story of a member that owns partition 0 and lets its client commit each half second."""
    told = CommitStory(config={"enable.auto.commit": True})
    told.start("m1")
    told.assign("m1", 0, at_ms=-500)
    told.write(9, 0)
    return told


# What a commit covers


@pytest.mark.parametrize(
    ("at_ms", "offset", "expected"),
    [
        (1_100, 3, [("auto-commit-early", 1)]),
        (1_100, 0, []),
        (1_201, 3, []),
        (900, 1, [("auto-commit-early", 1)]),
    ],
)
def test_commit_covers_only_what_the_application_has_done_with(wire, at_ms, offset, expected):
    wire.take("m1", 0, 0, 1, 2, at_ms=1_000, took_ms=200)
    wire.commit_request("m1", at_ms, {0: offset})
    assert found(auto_commit_early, wire) == expected
    assert arises(auto_commit_early, wire) == 1


def test_commit_of_what_another_process_has_done_with_is_not_early(wire):
    wire.start("m2")
    wire.take("m2", 0, 0, 1, 2, at_ms=100)
    wire.take("m1", 0, 0, 1, 2, at_ms=1_000, took_ms=200)
    wire.commit_request("m1", 1_100, {0: 3})
    assert found(auto_commit_early, wire) == []


def test_commit_of_the_application_is_not_judged(wire):
    wire.config.clear()
    wire.take("m1", 0, 0, at_ms=1_000, took_ms=200)
    wire.commit_request("m1", 1_100, {0: 1})
    assert found(auto_commit_early, wire) == []
    assert arises(auto_commit_early, wire) == 0


# When it comes


@pytest.mark.parametrize(("commit_ms", "expected"), [(2_900, []), (3_100, [("auto-commit-overdue", 1)])])
def test_commit_comes_within_twice_the_interval_and_a_second(wire, commit_ms, expected):
    wire.take("m1", 0, 0, 1, 2, at_ms=1_000)
    wire.commit_request("m1", commit_ms, {0: 3})
    assert found(auto_commit_pace, wire) == expected
    assert arises(auto_commit_pace, wire) == 1


def test_refused_commit_is_a_commit_as_well(wire):
    wire.take("m1", 0, 0, 1, 2, at_ms=1_000)
    wire.commit_request("m1", 1_500, {0: 3}, code=MOVED)
    assert found(auto_commit_pace, wire) == []


def test_client_commits_after_a_long_turn(wire):
    wire.take("m1", 0, 0, 1, 2, at_ms=1_000)
    wire.take("m1", 0, 3, at_ms=1_020, took_ms=3_000)
    wire.commit_request("m1", 4_900, {0: 4})
    assert found(auto_commit_pace, wire) == []


def test_client_cannot_put_a_commit_off_by_many_short_turns(wire):
    wire.take("m1", 0, 0, 1, 2, at_ms=1_000)
    for at_ms in range(1_100, 4_000, 200):
        wire.take("m1", 0, 3, at_ms=at_ms, took_ms=180)
    assert ("auto-commit-overdue", 10) in [
        (code, min(count, 10)) for code, count in found(auto_commit_pace, wire)
    ]


@pytest.mark.parametrize(
    "hinders",
    [
        lambda told: told.ask("m1", "JoinGroup", 2_000),
        lambda told: told.fault("disconnect", 2_000, 2_100),
        lambda told: told.revoke("m1", 0, at_ms=2_000, lost=True),
        lambda told: told.kill("m1", 2_500),
        lambda told: told.kill("m1", 4_000) or told.silent.add("m1"),
        lambda told: told.close("m1", 2_500) or told.commit_request("m1", 2_510, {0: 3}),
        lambda told: told.freeze("m1", 1_500, 2_500),
        lambda told: (
            told.config.update({"auto.commit.interval.ms": 5_000})
            or told.commit_request("m1", 11_000, {0: 3})
        ),
        lambda told: told.not_set.update({"auto.commit.interval.ms": "there is none"}),
        lambda told: told.config.clear(),
    ],
)
def test_commit_that_a_client_could_not_make_is_not_judged(wire, hinders):
    wire.take("m1", 0, 0, 1, 2, at_ms=1_000)
    hinders(wire)
    assert found(auto_commit_pace, wire) == []


def test_what_was_taken_under_another_ownership_is_not_judged(wire):
    wire.revoke("m1", 0, at_ms=500)
    wire.take("m1", 0, 0, 1, 2, at_ms=1_000)
    assert found(auto_commit_pace, wire) == []
    assert arises(auto_commit_pace, wire) == 0


def often(wire, *, code=0, apart_ms=150):
    wire.take("m1", 0, 0, 1, 2, at_ms=1_000)
    for number in range(5):
        wire.commit_request("m1", 1_500 + number * apart_ms, {0: 3}, code=code)


def test_five_commits_within_twice_the_interval_are_too_many(wire):
    often(wire)
    assert found(auto_commit_pace, wire) == [("auto-commit-too-often", 1)]


@pytest.mark.parametrize(
    "why",
    [
        lambda told: often(told, apart_ms=260),
        lambda told: often(told, code=MOVED),
        lambda told: often(told) or told.ask("m1", "SyncGroup", 1_600),
        lambda told: often(told) or told.fault("latency", 1_000, 1_600),
        lambda told: often(told) or told.close("m1", 2_300),
    ],
)
def test_commits_for_a_reason_are_not_too_many(wire, why):
    why(wire)
    assert found(auto_commit_pace, wire) == []


@pytest.mark.parametrize(("commit_ms", "expected"), [(1_390, []), (None, [("given-up-uncommitted", 1)])])
def test_partition_that_is_given_up_is_committed(wire, commit_ms, expected):
    wire.take("m1", 0, 0, 1, 2, at_ms=1_000)
    if commit_ms is not None:
        wire.commit_request("m1", commit_ms, {0: 3})
    wire.revoke("m1", 0, at_ms=1_400)
    wire.ask("m1", "JoinGroup", 1_410)
    assert found(auto_commit_pace, wire) == expected
    assert arises(auto_commit_pace, wire) == 1


def test_member_that_closes_commits(wire):
    wire.take("m1", 0, 0, 1, 2, at_ms=1_000)
    wire.close("m1", 1_300)
    assert found(auto_commit_pace, wire) == [("given-up-uncommitted", 1)]


@pytest.mark.parametrize(
    "why",
    [
        lambda told: told.revoke("m1", 0, at_ms=1_400, lost=True),
        lambda told: told.kill("m1", 1_400),
        lambda told: told.revoke("m1", 0, at_ms=1_400) or told.ask("m1", "Heartbeat", 1_390, code=25),
        lambda told: told.revoke("m1", 0, at_ms=1_400) or told.fault("partition", 1_000, 1_200),
        lambda told: told.revoke("m1", 0, at_ms=1_400) or told.freeze("m1", 1_200, 1_300),
        lambda told: told.sought("m1", 1_200) or told.revoke("m1", 0, at_ms=1_400),
    ],
)
def test_commit_before_an_end_that_a_member_did_not_choose_is_not_judged(wire, why):
    wire.take("m1", 0, 0, 1, 2, at_ms=1_000)
    why(wire)
    assert found(auto_commit_pace, wire) == []


# What follows a failure


@pytest.mark.parametrize(
    ("again_ms", "offset", "expected"),
    [
        (2_900, 3, []),
        (3_100, 3, [("auto-commit-not-repeated", 1)]),
        (2_000, 2, [("auto-commit-not-repeated", 1)]),
    ],
)
def test_refused_commit_is_made_again(wire, again_ms, offset, expected):
    wire.commit_request("m1", 1_000, {0: 3}, code=MOVED)
    wire.commit_request("m1", again_ms, {0: offset})
    assert found(auto_commit_failure, wire) == expected
    assert arises(auto_commit_failure, wire) == 1


def test_fault_that_refuses_commits_is_no_excuse(wire):
    wire.fault("error_response", 900, 4_000, api=int(Api.OFFSET_COMMIT), code=MOVED, count=1)
    wire.commit_request("m1", 1_000, {0: 3}, code=MOVED)
    assert found(auto_commit_failure, wire) == [("auto-commit-not-repeated", 1)]


@pytest.mark.parametrize(
    "why",
    [
        lambda told: told.fault("disconnect", 2_000, 2_100),
        lambda told: told.fault("error_response", 900, 4_000, api=int(Api.HEARTBEAT), code=MOVED, count=1),
        lambda told: told.revoke("m1", 0, at_ms=2_000),
        lambda told: told.ask("m1", "JoinGroup", 2_000),
        lambda told: told.kill("m1", 2_000),
        lambda told: told.freeze("m1", 1_500, 2_500),
    ],
)
def test_commit_that_could_not_be_made_again_is_not_judged(wire, why):
    wire.commit_request("m1", 1_000, {0: 3}, code=MOVED)
    why(wire)
    assert found(auto_commit_failure, wire) == []


def test_final_refusal_needs_no_other_commit(wire):
    wire.commit_request("m1", 1_000, {0: 3}, code=25)
    assert found(auto_commit_failure, wire) == []


def poll_fails(wire, at_ms, call="poll"):
    wire.commit_request("m1", 1_000, {0: 3}, code=MOVED)
    wire.commit_request("m1", 1_500, {0: 3})
    wire._add(ConsumerError, "m1", at_ms, call=call, error="NotCoordinator")


def test_poll_does_not_fail_by_an_automatic_commit(wire):
    poll_fails(wire, 1_010)
    assert found(auto_commit_failure, wire) == [("poll-failed-by-commit", 1)]


@pytest.mark.parametrize(
    "why",
    [
        lambda told: poll_fails(told, 990),
        lambda told: poll_fails(told, 2_100),
        lambda told: poll_fails(told, 1_010, call="close"),
        lambda told: poll_fails(told, 1_010) or told.ask("m1", "Heartbeat", 1_005, code=MOVED),
        lambda told: poll_fails(told, 1_010) or told.fault("latency", 500, 900),
    ],
)
def test_error_with_another_reason_is_not_the_commits(wire, why):
    why(wire)
    assert found(auto_commit_failure, wire) == []


# Partitions without a position


def ask(wire, api, at_ms, *partitions, offset=None, took_ms=1, code=0):
    told = tuple(OffsetPart(TOPIC, each, offset, error_code=code) for each in partitions)
    named = tuple(OffsetPart(TOPIC, each) for each in partitions)
    wire.ask("m1", api, at_ms, code=code, took_ms=took_ms, asks={"offsets": named}, tells={"offsets": told})


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([], [("commit-without-position", 1)]),
        ([("OffsetFetch", -1)], [("commit-without-position", 1)]),
        ([("OffsetFetch", 3)], []),
        ([("ListOffsets", 0)], []),
        ([("Fetch", None)], []),
    ],
)
def test_commit_needs_a_position(wire, told, expected):
    for api, offset in told:
        ask(wire, api, 100, 0, offset=offset)
    wire.commit_request("m1", 1_000, {0: 3})
    assert found(commit_without_position, wire) == expected


def test_answer_that_comes_later_is_no_position(wire):
    ask(wire, "ListOffsets", 100, 0, offset=0, took_ms=2_400)
    wire.commit_request("m1", 1_000, {0: 0})
    assert found(commit_without_position, wire) == [("commit-without-position", 1)]
    assert arises(commit_without_position, wire) == 1


@pytest.mark.parametrize(
    ("at_ms", "partition", "expected"),
    [(1_700, 0, [("commit-in-doubt", 1)]), (1_400, 0, []), (3_500, 0, []), (1_700, 1, [])],
)
def test_position_that_is_being_reset_is_in_doubt(wire, at_ms, partition, expected):
    ask(wire, "Fetch", 100, 1)
    ask(wire, "Fetch", 1_000, 0, code=1)
    ask(wire, "ListOffsets", 1_100, 0, offset=0, took_ms=2_000)
    wire.commit_request("m1", at_ms, {partition: 3})
    assert found(commit_without_position, wire) == expected
    assert arises(commit_without_position, wire) == 1


def test_position_that_is_being_compared_is_in_doubt(wire):
    ask(wire, "Fetch", 100, 0)
    ask(wire, "OffsetForLeaderEpoch", 1_000, 0, offset=3, took_ms=2_000)
    wire.commit_request("m1", 1_700, {0: 3})
    assert found(commit_without_position, wire) == [("commit-in-doubt", 1)]
