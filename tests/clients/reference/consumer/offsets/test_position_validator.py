"""PositionValidator: positions after a change of leader (CSM-FET-07, KIP-320)."""

from __future__ import annotations

import pytest

from clients.reference.consumer.errors import LogTruncationError, TopicAuthorizationError
from clients.reference.consumer.subscription.positions import FetchPosition, LeaderAndEpoch
from clients.reference.telemetry.fetch_events import LogTruncated
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME
from testkit.codes import raises_code

T0, T1 = ("t", 0), ("t", 1)


@pytest.fixture
def moved(bench):
    """Return a bench that reads 0 at offset 10 in epoch 4, and whose leader has changed to node 2, epoch 6."""

    def start(policy="earliest", **given):
        w = bench(auto_offset_reset=policy, retry_backoff_ms=70, retry_backoff_max_ms=70, **given)
        w.led({T0: (1, 5)})
        w.assign({T0: 10}, epoch=4)
        w.validator.validate_if_needed()
        assert w.subscriptions.valid_position(T0)
        w.led({T0: (2, 6)})
        return w

    return start


def asked(w):
    w.validator.validate_if_needed()
    return w.requests(Api.OFFSET_FOR_LEADER_EPOCH)


def answer(w, responses, sent, **fields):
    w.reply(sent, responses.leader_epochs(sent, {T0: fields}))


@pytest.mark.parametrize("version", [3, 4])
def test_a_position_that_is_in_the_log_is_read_on(moved, responses, version):
    w = moved()
    w.network.versions[Api.OFFSET_FOR_LEADER_EPOCH] = version
    [sent] = asked(w)
    part = sent.partitions[T0]
    assert (sent.node, part.leader_epoch, part.current_leader_epoch) == (2, 4, 6)
    assert (sent.body.__version__, sent.body.replica_id) == (version, -1)
    assert w.fetch() == [], "nothing is fetched before"
    assert asked(w) == []
    answer(w, responses, sent, leader_epoch=4, end_offset=10)
    assert w.subscriptions.valid_position(T0) == FetchPosition(10, 4, LeaderAndEpoch(2, 6))
    assert not w.told(LogTruncated)


def test_a_truncated_log_is_read_from_where_it_differs(moved, responses):
    w = moved()
    [sent] = asked(w)
    answer(w, responses, sent, leader_epoch=3, end_offset=7)
    assert w.subscriptions.valid_position(T0) == FetchPosition(7, 3, LeaderAndEpoch(2, 6))
    assert [(each.offset, each.end_offset) for each in w.told(LogTruncated)] == [(10, 7)]


def test_an_unknown_epoch_resets_the_position(moved, responses):
    w = moved()
    [sent] = asked(w)
    answer(w, responses, sent)
    assert w.subscriptions.needing_reset(w.clock.now_ms) == [T0]


@pytest.mark.parametrize(
    ("fields", "divergent"), [({"leader_epoch": 3, "end_offset": 7}, {T0: (7, 3)}), ({}, {})]
)
def test_without_policy_the_truncation_is_raised(moved, responses, fields, divergent):
    w = moved("none")
    [sent] = asked(w)
    answer(w, responses, sent, **fields)
    with pytest.raises(LogTruncationError) as caught:
        w.validator.validate_if_needed()
    assert (caught.value.offsets, caught.value.divergent) == ({T0: 10}, divergent)
    assert w.subscriptions.valid_position(T0) is None
    w.validator.validate_if_needed()


@pytest.mark.parametrize(
    "name", ["NOT_LEADER_OR_FOLLOWER", "UNKNOWN_LEADER_EPOCH", "UNKNOWN_SERVER_ERROR", None, ""]
)
def test_a_failed_validation_is_repeated_after_the_backoff(moved, responses, name):
    """None: the connection is lost. Empty: the partition is missing in the response."""
    w = moved()
    [sent] = asked(w)
    parts = {T0: {"error_code": BY_NAME[name].code}} if name else {}
    w.reply(sent, None if name is None else responses.leader_epochs(sent, parts))
    assert w.metadata.is_update_requested
    assert asked(w) == []
    w.clock.now_ms += 70
    assert len(asked(w)) == 1


def test_a_final_error_is_raised(moved, responses):
    w = moved()
    [sent] = asked(w)
    answer(w, responses, sent, error_code=BY_NAME["TOPIC_AUTHORIZATION_FAILED"].code)
    with raises_code(TopicAuthorizationError, "topic-forbidden", topics=("t",)):
        w.validator.validate_if_needed()


def test_a_leader_that_cannot_validate_is_trusted(moved):
    w = moved()
    w.network.versions[Api.OFFSET_FOR_LEADER_EPOCH] = 2
    assert asked(w) == []
    assert w.subscriptions.valid_position(T0) == FetchPosition(10, 4, LeaderAndEpoch(2, 6))


def test_the_versions_are_learned_first(moved):
    w = moved()
    w.network.unknown_versions = True
    assert asked(w) == []
    assert w.network.connects == [2]
    w.network.unknown_versions = False
    w.network.versions[Api.OFFSET_FOR_LEADER_EPOCH] = 2
    assert asked(w) == []
    assert w.subscriptions.valid_position(T0).offset == 10


def test_a_position_without_epoch_needs_no_validation(bench):
    w = bench()
    w.led({T0: (1, 5)})
    w.assign({T0: 10})
    w.led({T0: (2, 6)})
    assert asked(w) == []
    assert w.subscriptions.valid_position(T0) == FetchPosition(10, None, LeaderAndEpoch(2, 6))


@pytest.mark.parametrize("end_offset", [10, 7])
def test_an_answer_about_an_older_position_is_ignored(moved, responses, end_offset):
    w = moved("none")
    [sent] = asked(w)
    w.led({T0: (3, 7)})
    w.validator.validate_if_needed()
    answer(w, responses, sent, leader_epoch=4, end_offset=end_offset)
    w.validator.validate_if_needed()
    assert w.subscriptions.valid_position(T0) is None
    assert w.subscriptions.position(T0).leader == LeaderAndEpoch(3, 7)
