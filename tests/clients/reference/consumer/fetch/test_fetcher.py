"""Fetcher: which broker is asked for what, and when (CSM-FET-01, -08, -10; KIP-392, KIP-951)."""

from __future__ import annotations

import pytest

from clients.reference.consumer.errors import TopicAuthorizationError
from clients.reference.consumer.subscription.positions import LeaderAndEpoch
from clients.reference.errors import AuthenticationError
from clients.reference.telemetry.fetch_events import FetchAnswered, FetchSent
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME
from harness.wire.messages import make, nested
from testkit.codes import raises_code

T0, T1, T2, U0 = ("t", 0), ("t", 1), ("t", 2), ("u", 0)


def code(name):
    return BY_NAME[name].code


@pytest.fixture
def two_nodes(bench):
    """Partitions 0 and 1 of t on node 1, partition 2 on node 2, all read from 0."""
    w = bench()
    w.led({T0: (1, 5), T1: (1, 5), T2: (2, 7)})
    w.assign({T0: 0, T1: 0, T2: 0})
    return w


def test_one_request_goes_to_each_broker_with_the_settings(bench):
    given = {
        "fetch_min_bytes": 3,
        "fetch_max_bytes": 9,
        "fetch_max_wait_ms": 7,
        "max_partition_fetch_bytes": 5,
    }
    w = bench(**given, isolation_level="read_committed", client_rack="r")
    w.led({T0: (1, 5), T1: (1, 5), T2: (2, 7)})
    w.assign({T0: 4, T1: 0, T2: 0})
    first, second = w.fetch()
    assert (first.node, second.node) == (1, 2)
    body = first.body
    assert (body.min_bytes, body.max_bytes, body.max_wait.total_seconds()) == (3, 9, 0.007)
    assert (body.isolation_level, body.rack_id, body.session_id, body.session_epoch) == (1, "r", 0, 0)
    assert first.partitions.keys() == {T0, T1}
    asked = first.partitions[T0]
    assert (asked.fetch_offset, asked.current_leader_epoch, asked.partition_max_bytes) == (4, 5, 5)
    assert w.fetch() == [], "one request per broker is outstanding"


@pytest.mark.parametrize("version", [4, 5, 7, 9, 11, 12, 13, 15, 16, 17, 18])
def test_every_version_is_fetched_and_read(bench, responses, make_batch, version):
    w = bench()
    w.network.versions[Api.FETCH] = version
    w.led({T0: (1, 5), U0: (1, 5)})
    w.assign({T0: 0, U0: 0})
    [sent] = w.fetch()
    assert sent.body.__version__ == version
    data = {"records": make_batch(0, [b"a"], producer_id=1, transactional=True), "aborted": [(1, 0)]}
    w.reply(sent, responses.fetch(sent, {T0: data, U0: {}}, session_id=3))
    fetch = w.collect()
    assert [each.value for each in fetch.records[T0]] == [b"a"]
    w.assign({T0: 1})
    w.collect()
    [again] = w.fetch()
    assert getattr(again.body, "session_epoch", 0) == (1 if version >= 7 else 0)
    assert sum(len(topic.partitions) for topic in getattr(again.body, "forgotten_topics_data", ())) == (
        version >= 7
    )


def test_topics_without_ids_are_fetched_by_name(bench):
    w = bench()
    w.led({T0: (1, 5), U0: (1, 5)}, ids={"t": None, "u": None})
    w.assign({T0: 0, U0: 0})
    [sent] = w.fetch()
    assert sent.body.__version__ == 12


def test_no_request_goes_to_a_broker_whose_data_is_being_read(two_nodes, responses, make_batch):
    """CSM-FET-01: not even for its other partitions."""
    w = two_nodes
    first, second = w.fetch()
    w.reply(first, responses.fetch(first, {T0: {"records": make_batch(0, [b"a"])}, T1: {}}, session_id=3))
    w.reply(second, responses.fetch(second, {T2: {}}, session_id=4))
    assert w.fetch() == [], "the responses are buffered, even the empty ones"
    w.collect()
    first, second = w.fetch()
    assert (first.node, second.node) == (1, 2)
    assert first.partitions.keys() == {T0}, "only what has changed"
    assert second.partitions == {}


def test_paused_data_does_not_hold_up_the_others(two_nodes, responses, make_batch):
    """CSM-FET-08: the paused partition is not fetched, its data is kept and delivered after resume."""
    w = two_nodes
    first, _ = w.fetch()
    w.subscriptions.pause(T0)
    w.reply(first, responses.fetch(first, {T0: {"records": make_batch(0, [b"a"])}, T1: {}}, session_id=3))
    assert w.collect().is_empty
    assert not w.fetcher.has_available_fetches
    [sent] = w.fetch()
    assert (sent.partitions, len(sent.body.forgotten_topics_data)) == ({}, 1)
    w.subscriptions.resume(T0)
    assert w.fetcher.has_available_fetches
    assert [each.offset for each in w.collect().records[T0]] == [0]
    assert w.subscriptions.position(T0).offset == 1


def test_a_partition_without_leader_requests_metadata(bench):
    w = bench()
    w.led({T0: (1, 5)})
    w.assign({T0: 0, T1: 0})
    assert w.subscriptions.position(T1).leader.node_id is None
    assert not w.metadata.is_update_requested
    [sent] = w.fetch()
    assert sent.partitions.keys() == {T0}
    assert w.metadata.is_update_requested


def test_a_leader_that_metadata_has_forgotten_is_not_asked(bench):
    """A request to it could never be sent. It would fail at once and be made again, without a pause."""
    w = bench()
    w.led({T0: (1, 5)})
    w.assign({T0: 0})
    w.metadata.rebootstrap(w.clock.now_ms, "no metadata")
    assert w.subscriptions.position(T0).leader.node_id == 1
    assert w.fetch() == []
    assert w.metadata.is_update_requested


def test_a_broker_that_cannot_be_reached_is_left_out(two_nodes):
    w = two_nodes
    w.network.down.add(1)
    assert [sent.node for sent in w.fetch()] == [2]
    w.network.refused[1] = AuthenticationError("authentication-failed", "refused")
    with raises_code(AuthenticationError, "authentication-failed"):
        w.fetch()


def test_a_lost_response_is_asked_for_again_with_a_new_session(two_nodes, responses):
    w = two_nodes
    [first, _] = w.fetch()
    w.reply(first, responses.fetch(first, {T0: {}, T1: {}}, session_id=3))
    w.collect()
    [first] = w.fetch()
    assert (first.body.session_id, first.body.session_epoch) == (3, 1)
    w.reply(first, None)
    [first] = w.fetch()
    assert (first.body.session_id, first.body.session_epoch) == (3, 0)
    assert first.partitions.keys() == {T0, T1}
    assert w.told(FetchAnswered)[-1].error == "DisconnectException"
    assert [event.session_epoch for event in w.told(FetchSent) if event.node == 1] == [0, 1, 0]


@pytest.mark.parametrize(
    ("error", "updates"), [("FETCH_SESSION_ID_NOT_FOUND", False), ("FETCH_SESSION_TOPIC_ID_ERROR", True)]
)
def test_an_unknown_session_may_begin_again(two_nodes, responses, error, updates):
    w = two_nodes
    [first, _] = w.fetch()
    w.reply(first, responses.fetch(first, {}, error=code(error)))
    assert w.metadata.is_update_requested is updates
    [first] = w.fetch()
    assert (first.body.session_epoch, first.partitions.keys()) == (0, {T0, T1})


def test_a_version_that_no_broker_has_fails_the_request(bench):
    w = bench()
    w.network.versions[Api.FETCH] = 3
    w.led({T0: (1, 5)})
    w.assign({T0: 0})
    assert w.fetch() == []
    assert w.told(FetchAnswered)[-1].error == "UnsupportedVersionException"


def prefer(w, responses, node):
    [sent] = w.fetch()
    w.reply(sent, responses.fetch(sent, {T0: {"preferred_read_replica": node}}))
    w.collect()


def test_a_preferred_replica_is_read_until_the_preference_expires(bench, responses):
    """KIP-392."""
    w = bench(metadata_max_age_ms=5_000)
    w.led({T0: (1, 5)})
    w.assign({T0: 0})
    prefer(w, responses, 2)
    [sent] = w.fetch()
    assert sent.node == 2
    w.reply(sent, responses.fetch(sent, {T0: {}}))
    w.collect()
    w.clock.now_ms += 5_001
    [sent] = w.fetch()
    assert sent.node == 1


@pytest.mark.parametrize("how", ["offline", "unknown", "disconnected"])
def test_the_leader_is_read_again_without_the_preferred_replica(bench, responses, how):
    w = bench()
    w.led({T0: (1, 5)}, offline=(3,))
    w.assign({T0: 0})
    prefer(w, responses, {"offline": 3, "unknown": 9, "disconnected": 2}[how])
    if how == "disconnected":
        [sent] = w.fetch()
        w.reply(sent, None)
    else:
        assert not w.metadata.is_update_requested
    [sent] = w.fetch()
    assert sent.node == 1
    if how != "disconnected":
        assert w.metadata.is_update_requested


def test_a_response_may_name_the_new_leader(two_nodes, responses):
    """KIP-951: the position is validated there, and read from there."""
    w = two_nodes
    w.assign({T0: 4}, epoch=5)
    [sent] = w.fetch()
    kind = nested(type(responses.fetch(sent, {})), "NodeEndpoint")
    nodes = (make(kind, node_id=8, host="new", port=1, rack=None),)
    moved = {"error_code": code("NOT_LEADER_OR_FOLLOWER"), "leader": (8, 6)}
    w.reply(sent, responses.fetch(sent, {T0: moved}, session_id=3, node_endpoints=nodes))
    assert w.metadata.leader_and_epoch(T0) == LeaderAndEpoch(8, 6)
    assert w.metadata.nodes[8].host == "new"
    assert w.subscriptions.needing_validation(w.clock.now_ms) == [T0]
    assert w.collect().is_empty
    w.validator.validate_if_needed()
    [sent] = w.requests(Api.OFFSET_FOR_LEADER_EPOCH)
    assert sent.node == 8
    w.reply(sent, responses.leader_epochs(sent, {T0: {"leader_epoch": 5, "end_offset": 4}}))
    [sent] = w.fetch()
    assert (sent.node, sent.partitions[T0].current_leader_epoch) == (8, 6)


def test_close_ends_the_sessions_and_drops_the_data(two_nodes, responses, make_batch):
    w = two_nodes
    first, second = w.fetch()
    w.reply(first, responses.fetch(first, {T0: {"records": make_batch(0, [b"a"])}, T1: {}}, session_id=3))
    w.reply(second, responses.fetch(second, {T2: {}}))
    asked = []

    def answer(sent):
        asked.append((sent.node, sent.body.session_id, sent.body.session_epoch, sent.partitions))
        return responses.fetch(sent, {})

    w.answer = answer
    w.run(w.fetcher.close(w.timer(1_000)))
    assert asked == [(1, 3, -1, {})]
    assert w.clock.now_ms < 2_000
    assert not w.fetcher.has_available_fetches


@pytest.mark.parametrize("why", ["no answer", "unreachable"])
def test_close_does_not_wait_longer_than_it_may(two_nodes, responses, why):
    w = two_nodes
    first, _ = w.fetch()
    w.reply(first, responses.fetch(first, {T0: {}, T1: {}}, session_id=3))
    if why == "unreachable":
        w.network.down.add(1)
    begin_ms = w.clock.now_ms
    w.run(w.fetcher.close(w.timer(1_000)))
    assert w.clock.now_ms - begin_ms == (1_000 if why == "no answer" else 0)


def test_data_of_partitions_that_are_gone_is_dropped(two_nodes, responses, make_batch):
    w = two_nodes
    first, _ = w.fetch()
    w.reply(first, responses.fetch(first, {T0: {"records": make_batch(0, [b"a"])}, T1: {}}))
    w.fetcher.clear_buffered_data_for_unassigned({T1})
    assert w.collect().is_empty
    assert w.subscriptions.position(T0).offset == 0


def test_an_error_is_raised_once_and_the_fetch_goes_on(two_nodes, responses):
    w = two_nodes
    first, _ = w.fetch()
    w.reply(first, responses.fetch(first, {T0: {"error_code": code("TOPIC_AUTHORIZATION_FAILED")}, T1: {}}))
    with raises_code(TopicAuthorizationError, "topic-forbidden", topics=("t",)):
        w.collect()
    assert w.collect().is_empty
    assert [sent.node for sent in w.fetch()] == [1]
