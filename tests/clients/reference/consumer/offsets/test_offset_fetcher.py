"""OffsetFetcher: lookups for resets and for the application (CSM-FET-11, CSM-API-04)."""

from __future__ import annotations

import pytest

from clients.reference.consumer.errors import (
    NoOffsetForPartitionError,
    TimeoutError,
    TopicAuthorizationError,
)
from clients.reference.consumer.offsets.list_offsets import EARLIEST, LATEST, OffsetAndTimestamp
from clients.reference.consumer.subscription.positions import FetchPosition, LeaderAndEpoch
from clients.reference.errors import AuthenticationError
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME
from testkit.codes import raises_code

T0, T1, U0 = ("t", 0), ("t", 1), ("u", 0)
WALL_MS = 1_700_000_000_000


def code(name):
    return BY_NAME[name].code


@pytest.fixture
def lost(bench):
    """Return a bench with partitions that need a reset: 0 on node 1, 1 on node 2."""

    def start(policy="earliest", **given):
        w = bench(auto_offset_reset=policy, **given)
        w.led({T0: (1, 5), T1: (2, 6)})
        w.assign({T0: None, T1: None})
        w.subscriptions.reset_initializing()
        return w

    return start


def asked(w):
    w.offsets.reset_if_needed()
    return w.requests(Api.LIST_OFFSETS)


@pytest.mark.parametrize(
    ("policy", "time_ms"),
    [("earliest", EARLIEST), ("latest", LATEST), ("by_duration:PT1M", WALL_MS - 60_000)],
)
def test_a_reset_asks_each_leader_by_the_policy(lost, responses, policy, time_ms):
    w = lost(policy)
    first, second = asked(w)
    assert [(each.node, list(each.partitions)) for each in (first, second)] == [(1, [T0]), (2, [T1])]
    part = first.partitions[T0]
    assert (part.timestamp, part.current_leader_epoch, first.body.isolation_level) == (time_ms, 5, 0)
    assert asked(w) == [], "one lookup at a time"
    w.reply(first, responses.list_offsets(first, {T0: {"offset": 9, "leader_epoch": 3}}))
    assert w.subscriptions.valid_position(T0) == FetchPosition(9, None, LeaderAndEpoch(1, 5))
    assert w.subscriptions.valid_position(T1) is None


@pytest.mark.parametrize("version", range(1, 12))
def test_every_version_is_asked_and_read(lost, responses, version):
    w = lost()
    w.network.versions[Api.LIST_OFFSETS] = version
    first, _ = asked(w)
    assert first.body.__version__ == version
    w.reply(first, responses.list_offsets(first, {T0: {"offset": 9}}))
    assert w.subscriptions.valid_position(T0).offset == 9


def test_read_committed_needs_a_version_with_isolation_levels(lost):
    w = lost(isolation_level="read_committed")
    w.network.versions[Api.LIST_OFFSETS] = 2
    first, _ = asked(w)
    assert first.body.isolation_level == 1


@pytest.mark.parametrize(
    "name",
    [
        "NOT_LEADER_OR_FOLLOWER",
        "FENCED_LEADER_EPOCH",
        "UNKNOWN_LEADER_EPOCH",
        "OFFSET_NOT_AVAILABLE",
        "UNKNOWN_TOPIC_OR_PARTITION",
        "UNKNOWN_SERVER_ERROR",
        None,
    ],
)
def test_a_failed_lookup_is_repeated_after_the_backoff(lost, responses, name):
    """None: the connection is lost."""
    w = lost(retry_backoff_ms=70, retry_backoff_max_ms=70)
    first, _ = asked(w)
    w.reply(first, name and responses.list_offsets(first, {T0: {"error_code": code(name)}}))
    assert w.metadata.is_update_requested
    assert asked(w) == []
    w.clock.now_ms += 70
    assert [each.partitions.keys() for each in asked(w)] == [{T0}]


def test_a_lookup_without_response_is_repeated_after_the_request_timeout(lost):
    w = lost(request_timeout_ms=900)
    assert len(asked(w)) == 2
    w.clock.now_ms += 899
    assert asked(w) == []
    w.clock.now_ms += 1
    assert len(asked(w)) == 2


def test_no_record_since_then_is_asked_again(lost, responses):
    """To take the end instead could skip a record that arrives meanwhile."""
    w = lost("by_duration:PT1M")
    first, _ = asked(w)
    w.reply(first, responses.list_offsets(first, {T0: {"offset": -1}}))
    assert w.subscriptions.valid_position(T0) is None
    w.clock.now_ms += 100
    [again] = asked(w)
    assert again.node == 1


def test_a_final_error_is_raised_by_the_next_call_once(lost, responses):
    w = lost()
    first, _ = asked(w)
    w.reply(first, responses.list_offsets(first, {T0: {"error_code": code("TOPIC_AUTHORIZATION_FAILED")}}))
    with raises_code(TopicAuthorizationError, "topic-forbidden", topics=("t",)):
        w.offsets.reset_if_needed()
    w.clock.now_ms += 100
    assert [each.node for each in asked(w)] == [1]


def test_without_policy_a_reset_is_an_error(bench):
    w = bench(auto_offset_reset="none")
    w.assign({T0: None})
    w.subscriptions.request_offset_reset(T0)
    with pytest.raises(NoOffsetForPartitionError) as caught:
        w.offsets.reset_if_needed()
    assert caught.value.partitions == (T0,)


@pytest.mark.parametrize("meanwhile", ["seek", "other reset", "unassigned"])
def test_a_result_that_came_too_late_changes_nothing(lost, responses, meanwhile):
    w = lost()
    first, _ = asked(w)
    if meanwhile == "seek":
        w.subscriptions.seek(T0, 44)
    elif meanwhile == "other reset":
        w.subscriptions.request_offset_reset(T0, "latest")
    else:
        w.assign({T1: 0})
    w.reply(first, responses.list_offsets(first, {T0: {"offset": 9}}))
    at = w.subscriptions.valid_position(T0).offset if meanwhile == "seek" else None
    assert at == (44 if meanwhile == "seek" else None)
    assert (T0 in w.subscriptions.needing_reset(w.clock.now_ms)) == (meanwhile == "other reset")


def test_a_newer_epoch_in_the_result_requests_metadata(lost, responses):
    w = lost()
    first, second = asked(w)
    w.reply(first, responses.list_offsets(first, {T0: {"offset": 9, "leader_epoch": 5}}))
    assert not w.metadata.is_update_requested
    w.reply(second, responses.list_offsets(second, {T1: {"offset": 9, "leader_epoch": 7}}))
    assert w.metadata.is_update_requested


def test_partitions_without_a_usable_leader_wait(lost):
    w = lost()
    w.network.down.add(1)
    assert [each.node for each in asked(w)] == [2]
    w.network.refused[1] = AuthenticationError("authentication-failed", "refused")
    with raises_code(AuthenticationError, "authentication-failed"):
        w.offsets.reset_if_needed()


# Calls of the application


@pytest.fixture
def reading(bench):
    w = bench(retry_backoff_ms=10)
    w.led({T0: (1, 5), T1: (2, 6), U0: (1, 5)})
    w.assign({T0: 0})
    return w


def test_offsets_for_times(reading, responses):
    w = reading
    answers = {
        T0: {"offset": 5, "timestamp": 77, "leader_epoch": 2},
        T1: {"error_code": code("UNSUPPORTED_FOR_MESSAGE_FORMAT")},
        U0: {"offset": -1},
    }
    w.answer = lambda sent: responses.list_offsets(sent, {each: answers[each] for each in sent.partitions})
    found = w.run(w.offsets.offsets_for_times({T0: 70, T1: 71, U0: 72}, w.timer(1_000)))
    assert found == {T0: OffsetAndTimestamp(5, 77, 2), T1: None, U0: None}
    assert w.subscriptions.state(T0).high_watermark is None


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_beginning_and_end(bench, responses, isolation):
    w = bench(isolation_level=isolation)
    w.led({T0: (1, 5), T1: (2, 6)})
    w.assign({T0: 0})
    offsets = {EARLIEST: 3, LATEST: 8}
    w.answer = lambda sent: responses.list_offsets(
        sent, {each: {"offset": offsets[part.timestamp]} for each, part in sent.partitions.items()}
    )
    assert w.run(w.offsets.beginning_offsets([T0, T1], w.timer(1_000))) == {T0: 3, T1: 3}
    assert w.subscriptions.end_offset(T0, isolation) is None
    assert w.run(w.offsets.end_offsets([T0, T1], w.timer(1_000))) == {T0: 8, T1: 8}
    assert w.subscriptions.end_offset(T0, isolation) == 8
    assert w.run(w.offsets.end_offsets([], w.timer(1_000))) == {}


def test_a_call_goes_on_with_what_is_missing(reading, responses):
    """The first answer for 1 is an error, the first connection of 0 is lost."""
    w, tried = reading, []

    def answer(sent):
        tried.append(list(sent.partitions))
        if len(tried) == 1:
            return None
        error = code("NOT_LEADER_OR_FOLLOWER") if T1 in sent.partitions and len(tried) < 5 else 0
        return responses.list_offsets(
            sent, {each: {"offset": 4, "error_code": error} for each in sent.partitions}
        )

    w.answer = answer
    assert w.run(w.offsets.end_offsets([T0, T1], w.timer(60_000))) == {T0: 4, T1: 4}
    assert tried[-1] == [T1]


def test_a_call_ends_at_its_limit(reading):
    w = reading
    begin_ms = w.clock.now_ms
    with raises_code(TimeoutError, "offsets-not-found", timeout_ms="500"):
        w.run(w.offsets.end_offsets([T0], w.timer(500)))
    assert w.clock.now_ms - begin_ms == 500


def test_a_partition_that_does_not_exist_ends_at_the_limit(reading):
    w = reading
    with raises_code(TimeoutError, "offsets-not-found"):
        w.run(w.offsets.end_offsets([("t", 9)], w.timer(500)))


def test_a_final_error_ends_a_call(reading, responses):
    w = reading
    w.answer = lambda sent: responses.list_offsets(
        sent, {each: {"error_code": code("TOPIC_AUTHORIZATION_FAILED")} for each in sent.partitions}
    )
    with raises_code(TopicAuthorizationError, "topic-forbidden"):
        w.run(w.offsets.end_offsets([T0], w.timer(500)))


def test_a_timer_of_0_only_starts_the_lookup(reading, responses):
    w = reading
    assert w.run(w.offsets.end_offsets([T0], w.timer(0))) == {}
    [sent] = w.requests(Api.LIST_OFFSETS)
    w.reply(sent, responses.list_offsets(sent, {T0: {"offset": 30}}))
    assert w.subscriptions.lag(T0, "read_uncommitted") == 30
