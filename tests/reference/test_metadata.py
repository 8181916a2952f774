"""Metadata: what is asked when, what is believed, and sends that wait for it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.errors import BrokerError, TimeoutError
from clients.reference.ports import Node
from clients.reference.trace import LeadershipUpdated, MetadataFailed
from harness.wire.apis import Api


def questions(cluster):
    return [(seen.at_ms, [t.name for t in seen.body.topics or ()]) for seen in cluster.requests(Api.METADATA)]


def gaps(cluster):
    times = [at_ms for at_ms, _ in questions(cluster)]
    return [later - earlier for earlier, later in pairwise(times)]


def test_it_is_refreshed_before_it_is_too_old(world, cluster):
    """MET-01."""
    w = world(metadata_max_age_ms=1_000)
    w.settle(w.send())
    start = len(questions(cluster))
    w.run_for(5_000)
    assert gaps(cluster)[start:] == [1_002] * (len(gaps(cluster)) - start)
    assert len(gaps(cluster)) - start >= 3


def test_failed_refreshes_are_spaced_more_and_more(world, cluster):
    """MET-02, MET-06: also an answer without brokers is a failure, and wipes nothing."""
    w = world(metadata_max_age_ms=10_000)
    w.settle(w.send())
    start = len(questions(cluster))
    cluster.script = lambda seen: -1 if seen.api is Api.METADATA else None
    w.run_for(16_000)
    assert gaps(cluster)[start:][:6] == [102, 202, 402, 802, 1_002, 1_002]
    cluster.script = lambda seen: None
    w.settle(w.send())


def test_answers_that_say_nothing_new_are_spaced_too(world, cluster):
    """MET-03: a leader that refuses while metadata insists on it makes no storm."""
    w = world(retry_backoff_ms=100, retry_backoff_max_ms=1_000)
    w.settle(w.send())
    start = len(questions(cluster))
    cluster.script = lambda seen: 6 if seen.api is Api.PRODUCE else None
    w.send()
    w.run_for(10_000)
    asked = len(questions(cluster)) - start
    assert 5 <= asked <= 20
    assert len(cluster.requests(Api.PRODUCE)) <= 20


def test_an_older_leader_epoch_is_not_believed(world, cluster):
    """MET-04, and MET-05: a recreated topic begins anew."""
    cluster.brokers[2] = Node(2, "b2", 9092)
    topic_id, _ = cluster.topics["t"]
    cluster.topics["t"] = (topic_id, {0: (2, 7)})
    w = world(metadata_max_age_ms=500)
    w.settle(w.send())
    cluster.topics["t"] = (topic_id, {0: (1, 6)})
    w.run_for(2_000)
    assert w.core._metadata.leader_of(("t", 0)) == 2
    cluster.topics["t"] = (topic_id, {0: (1, 8)})
    w.run_for(2_000)
    assert w.core._metadata.leader_of(("t", 0)) == 1
    cluster.add_topic("new", [1])
    new_id, _ = cluster.topics.pop("new")
    cluster.topics["t"] = (new_id, {0: (2, 0)})
    w.run_for(2_000)
    assert w.core._metadata.leader_of(("t", 0)) == 2


def test_an_answer_to_an_older_question_does_not_satisfy_a_new_topic(world, cluster):
    """MET-07."""
    cluster.add_topic("u", [1])
    cluster.latency_ms = 100
    w = world()
    first = w.send("t")
    w.run_until(lambda: any(topics == ["t"] for _, topics in questions(cluster)))
    second = w.send("u")
    w.settle(first, second)
    assert second.error is None
    assert [topics for _, topics in questions(cluster)][:2] == [["t"], ["u"]]


def test_a_leader_error_asks_at_once_and_the_retry_goes_to_the_new_leader(world, cluster):
    """MET-08, PRD-SND-10."""
    cluster.brokers[2] = Node(2, "b2", 9092)
    w = world()
    w.settle(w.send())
    topic_id, _ = cluster.topics["t"]
    cluster.topics["t"] = (topic_id, {0: (2, 1)})
    start_ms = w.now_ms
    delivery = w.send()
    w.settle(delivery)
    assert [seen.node_id for seen in cluster.requests(Api.PRODUCE)] == [1, 1, 2]
    assert w.now_ms - start_ms < 250
    assert delivery.error is None


def test_a_topic_that_is_not_used_is_not_asked_for_any_more(world, cluster):
    """MET-10."""
    cluster.add_topic("u", [1])
    w = world(metadata_max_age_ms=4_000, metadata_max_idle_ms=6_000)
    w.settle(w.send("t"), w.send("u"))
    for _ in range(8):
        w.run_for(1_500)
        w.settle(w.send("t"))
    assert questions(cluster)[-1][1] == ["t"]


def test_a_topic_that_does_not_exist_fails_after_max_block(world, cluster):
    """MET-11: named, with the limit; as a failed delivery with its callback."""
    w = world(max_block_ms=2_000)
    told = []
    start_ms = w.now_ms
    delivery = w.send("nope", callback=lambda *result: told.append(result))
    w.settle(delivery)
    assert w.now_ms == start_ms + 2_000
    assert isinstance(delivery.error, TimeoutError)
    assert "nope" in str(delivery.error) and "2000" in str(delivery.error)
    assert told == [(None, delivery.error)]
    assert len(questions(cluster)) < 10


def test_a_partition_that_appears_in_time_is_waited_for(world, cluster):
    """MET-12."""
    w = world(max_block_ms=5_000)
    grown, never = w.send(partition=5), w.send(partition=9)
    w.run_for(1_000)
    topic_id, partitions = cluster.topics["t"]
    cluster.topics["t"] = (topic_id, partitions | dict.fromkeys(range(3, 6), (1, 0)))
    w.settle(grown, never)
    assert grown.metadata.partition == 5
    assert isinstance(never.error, TimeoutError)
    assert "partition 9" in str(never.error)


@pytest.mark.parametrize("name", ["INVALID_TOPIC_EXCEPTION", "TOPIC_AUTHORIZATION_FAILED"])
def test_a_topic_that_is_refused_fails_at_once(world, cluster, name):
    """MET-13."""
    cluster.topic_errors["bad topic"] = name
    w = world()
    delivery = w.send("bad topic")
    w.run_until(lambda: delivery.is_done, limit_ms=100)
    assert isinstance(delivery.error, BrokerError)
    assert delivery.error.name == name


def test_topics_may_be_created_on_first_use(world, cluster):
    """MET-15."""
    cluster.auto_create = 2
    w = world()
    w.settle(w.send("fresh", partition=1))
    assert all(seen.body.allow_auto_topic_creation for seen in cluster.requests(Api.METADATA))
    assert cluster.log("fresh", 1).values


def test_metadata_and_memory_share_one_limit(world, cluster):
    """MET-14, PRD-ACC-09."""
    cluster.script = lambda seen: "hold" if seen.api is Api.PRODUCE else None
    held = iter(["hold"])
    w = world(
        max_block_ms=3_000,
        buffer_memory=400,
        batch_size=400,
        delivery_timeout_ms=60_000,
        request_timeout_ms=1_000,
    )
    cluster.script = lambda seen: (
        next(held, None) if seen.api is Api.METADATA else "hold" if seen.api is Api.PRODUCE else None
    )
    start_ms = w.now_ms
    filling, blocked = w.send(value=b"x" * 300), w.send(value=b"x" * 300)
    w.run_until(lambda: blocked.is_done)
    assert w.now_ms == start_ms + 3_000
    assert blocked.error.name == "REQUEST_TIMED_OUT"
    assert "no memory" in str(blocked.error)
    assert filling.batch is not None


def test_a_newer_leader_from_another_answer_is_adopted(world, cluster):
    """MET-09, KIP-951: newer epochs only, of partitions and nodes that are known; a later answer may not undo it."""
    w = world(metadata_max_age_ms=500)
    topic_id, _ = cluster.topics["t"]
    cluster.topics["t"] = (topic_id, {0: (1, 4), 1: (1, 4), 2: (1, 4)})
    w.settle(w.send())
    metadata = w.core._metadata
    b2 = Node(2, "b2", 9092)
    told = {("t", 0): (2, 5), ("t", 1): (2, 4), ("t", 2): (3, 5), ("t", 9): (2, 5), ("u", 0): (2, 5)}
    assert metadata.update_partition_leadership(told, [b2], w.now_ms) == {("t", 0)}
    assert [metadata.leader_of(("t", index)) for index in range(3)] == [2, 1, 1]
    assert metadata.current_leader(("t", 0)).epoch == 5
    assert metadata.partitions_led_by(2) == [("t", 0)] and metadata.nodes[2] == b2
    assert [(event.partition, event.leader, event.epoch) for event in w.of(LeadershipUpdated)] == [
        ("t-0", 2, 5)
    ]
    assert metadata.update_partition_leadership({("t", 0): (1, 5)}, [], w.now_ms) == set()
    cluster.brokers[2] = b2
    w.run_for(2_000)
    assert metadata.leader_of(("t", 0)) == 2


@given(st.lists(st.tuples(st.sampled_from(["answer", "produce"]), st.integers(1, 3), st.integers(0, 6))))
def test_the_leader_of_the_newest_epoch_is_believed_whoever_tells(fresh_world, told):
    """MET-04, -09: by answer or by another's error, in any order."""
    w = fresh_world(metadata_max_age_ms=100)
    cluster = w.cluster
    cluster.brokers |= {number: Node(number, f"b{number}", 9092) for number in (2, 3)}
    w.settle(w.send())
    topic_id, _ = cluster.topics["t"]
    newest = (1, 0)
    for source, leader, epoch in told:
        if source == "answer":
            cluster.topics["t"] = (topic_id, {0: (leader, epoch)})
            w.run_for(250)
            newest = (leader, epoch) if epoch >= newest[1] else newest
        else:
            w.core._metadata.update_partition_leadership({("t", 0): (leader, epoch)}, [], w.now_ms)
            newest = (leader, epoch) if epoch > newest[1] else newest
        known = w.core._metadata.current_leader(("t", 0))
        assert (known.leader, known.epoch) == newest


def test_epochs_of_old_answers_are_not_reliable(world, cluster):
    """MET-04: before Metadata version 9 an epoch says nothing, so the last answer stands."""
    cluster.versions[Api.METADATA] = (0, 8)
    cluster.brokers[2] = Node(2, "b2", 9092)
    topic_id, _ = cluster.topics["t"]
    cluster.topics["t"] = (topic_id, {0: (2, 7)})
    w = world(metadata_max_age_ms=500)
    w.settle(w.send())
    cluster.topics["t"] = (topic_id, {0: (1, 6)})
    w.run_for(2_000)
    assert w.core._metadata.leader_of(("t", 0)) == 1


def test_the_cluster_id_is_told_after_every_answer(world, cluster):
    """KIP-78."""
    w = world(metadata_max_age_ms=500)
    told = []
    w.core._metadata.on_cluster_id = told.append
    w.settle(w.send())
    w.run_for(2_000)
    assert set(told) == {"c"} and len(told) == len(questions(cluster))
    assert w.core._metadata.controller_id == 1


def test_no_common_version_is_fatal_for_who_waits(world, cluster):
    """MET-16: told once; the wait could never end well."""
    cluster.versions[Api.METADATA] = (90, 91)
    w = world()
    w.run_until(lambda: w.core._metadata._failures > 0)
    error = w.core._metadata.take_fatal_error()
    assert error is not None and error.name == "UNSUPPORTED_VERSION"
    assert w.core._metadata.take_fatal_error() is None


def test_a_good_answer_forgets_the_fatal_error(world, cluster):
    w = world()
    w.core._metadata.fail(TimeoutError("old"))
    w.run_until(lambda: w.core._metadata.update_version > 0)
    assert w.core._metadata.take_fatal_error() is None


def test_a_disconnect_while_an_update_is_due_is_a_failed_update(world, cluster):
    """MET-02: with one bootstrap server that refuses, Metadata's own backoff grows too."""
    cluster.accepts = lambda node: "refused"
    w = world()
    w.run_for(5_000)
    attempts = [event.attempts for event in w.of(MetadataFailed)]
    assert attempts == list(range(1, len(attempts) + 1))
    assert 4 <= len(attempts) <= 9


def test_an_answer_that_comes_after_the_wait_is_still_good(world, cluster):
    """NET-TMO-06: max.block.ms ends the wait, not the request; what it brings serves the next send."""
    cluster.script = lambda seen: "late" if seen.api is Api.METADATA else None
    w = world(max_block_ms=1_000)
    start_ms = w.now_ms
    first = w.send()
    w.settle(first)
    assert w.now_ms == start_ms + 1_000 and isinstance(first.error, TimeoutError)
    w.run_for(1_500)
    cluster.script = lambda seen: None
    second = w.send()
    w.settle(second)
    assert second.error is None
    assert cluster.log("t").values == [b"v1"]
