"""Metadata: when each request is sent, and sends that wait for a response."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from clients.reference.errors import BrokerError, TimeoutError
from clients.reference.producer.producer_batch import RecordMetadata
from clients.reference.telemetry.trace import MetadataFailed
from harness.wire.apis import Api
from testkit.codes import has_error


def questions(w):
    return [
        (seen.at_ms, [t.name for t in seen.body.topics or ()]) for seen in w.brokers.requests(Api.METADATA)
    ]


def gaps(w):
    times = [at_ms for at_ms, _ in questions(w)]
    return [later - earlier for earlier, later in pairwise(times)]


def test_metadata_is_refreshed_before_its_maximum_age(world):
    """MET-01."""
    w = world(metadata_max_age_ms=1_000)
    w.settle(w.send())
    start = len(questions(w))
    w.run(5_000)
    assert gaps(w)[start:] == [1_000] * (len(gaps(w)) - start)
    assert len(gaps(w)) - start >= 3


def test_failed_refreshes_have_growing_backoff(world):
    """MET-02, MET-06: a response without brokers is a failure too, and removes nothing."""
    w = world(metadata_max_age_ms=10_000)
    w.settle(w.send())
    start = len(questions(w))
    w.brokers.script = lambda seen: (
        seen.edit(lambda body: replace(body, brokers=())) if seen.api is Api.METADATA else None
    )
    w.run(16_000)
    assert gaps(w)[start:][:6] == [100, 200, 400, 800, 1_000, 1_000]
    w.brokers.fates()
    w.settle(w.send())


def test_unchanged_responses_have_growing_backoff(world):
    """MET-03: a leader that rejects requests while metadata still names it does not cause a storm."""
    w = world(retry_backoff_ms=100, retry_backoff_max_ms=1_000)
    w.settle(w.send())
    start = len(questions(w))
    w.brokers.fates(then=6)
    w.send()
    w.run(10_000)
    asked = len(questions(w)) - start
    assert 5 <= asked <= 20
    assert len(w.brokers.requests()) <= 20


def test_response_to_an_older_request_does_not_satisfy_a_new_topic(world):
    """MET-07."""
    w = world()
    w.cluster.create_topic("u", 1)
    w.slow(100)
    first = w.send(topic="t")
    w.until(lambda: any(topics == ["t"] for _, topics in questions(w)))
    second = w.send(topic="u")
    w.settle(first, second)
    assert second.error is None
    assert [topics for _, topics in questions(w)][:2] == [["t"], ["u"]]


def test_leader_error_refreshes_at_once_and_retry_goes_to_new_leader(world):
    """MET-08, PRD-SND-10."""
    w = world(nodes=2)
    w.settle(w.send())
    w.cluster.move_leader("t", 0, 2, 0)
    start_ms = w.now_ms
    delivery = w.send()
    w.settle(delivery)
    assert [seen.node_id for seen in w.brokers.requests()] == [1, 1, 2]
    assert w.now_ms - start_ms < 250
    assert delivery.error is None


def test_unused_topic_is_no_longer_requested(world):
    """MET-10."""
    w = world(metadata_max_age_ms=4_000, metadata_max_idle_ms=6_000)
    w.cluster.create_topic("u", 1)
    w.settle(w.send(topic="t"), w.send(topic="u"))
    for _ in range(8):
        w.run(1_500)
        w.settle(w.send(topic="t"))
    assert questions(w)[-1][1] == ["t"]


def test_nonexistent_topic_fails_after_max_block(world):
    """MET-11: the failed delivery, with its callback, names the topic and the limit."""
    w = world(max_block_ms=2_000)
    told = []
    start_ms = w.now_ms
    delivery = w.send(topic="nope", callback=lambda *result: told.append(result))
    w.settle(delivery)
    assert w.now_ms == start_ms + 2_000
    assert isinstance(delivery.error, TimeoutError)
    assert "nope" in str(delivery.error) and "2000" in str(delivery.error)
    assert told == [(RecordMetadata("nope", 0, -1, -1), delivery.error)]
    assert len(questions(w)) < 10


def test_send_waits_for_a_new_partition(world):
    """MET-12."""
    w = world(max_block_ms=5_000)
    grown, never = w.send(partition=5), w.send(partition=9)
    w.run(1_000)
    w.cluster.add_partitions("t", 6)
    w.settle(grown, never)
    assert grown.metadata.partition == 5
    assert isinstance(never.error, TimeoutError)
    assert has_error(never.error, "partition-not-in-metadata", "9")


@pytest.mark.parametrize("name", ["INVALID_TOPIC_EXCEPTION", "TOPIC_AUTHORIZATION_FAILED"])
def test_refused_topic_fails_at_once(world, name):
    """MET-13."""
    topic = "bad topic" if name == "INVALID_TOPIC_EXCEPTION" else "denied"
    w = world()
    w.cluster.settings.denied_topics.add("denied")
    delivery = w.send(topic=topic)
    w.until(lambda: delivery.is_done, limit_ms=100)
    assert isinstance(delivery.error, BrokerError)
    assert delivery.error.name == name


def test_topic_is_created_on_first_use(world):
    """MET-15."""
    w = world()
    w.cluster.settings.auto_create_topics_enable = True
    w.cluster.settings.num_partitions = 2
    w.settle(w.send(topic="fresh", partition=1))
    assert all(seen.body.allow_auto_topic_creation for seen in w.brokers.requests(Api.METADATA))
    assert w.brokers.values(1, "fresh")


def test_metadata_and_memory_share_max_block(world):
    """MET-14, PRD-ACC-09."""
    w = world(
        max_block_ms=3_000,
        buffer_memory=400,
        batch_size=400,
        delivery_timeout_ms=60_000,
        request_timeout_ms=1_000,
    )
    held = iter(["hold"])
    w.brokers.script = lambda seen: (
        next(held, None) if seen.api is Api.METADATA else "hold" if seen.api is Api.PRODUCE else None
    )
    start_ms = w.now_ms
    filling, blocked = w.send(value=b"x" * 300), w.send(value=b"x" * 300)
    w.until(lambda: blocked.is_done)
    assert w.now_ms == start_ms + 3_000
    assert blocked.error.name == "REQUEST_TIMED_OUT"
    assert has_error(blocked.error, "buffer-exhausted")
    assert filling.batch is not None


def test_cluster_id_is_reported_after_every_response(world):
    """KIP-78."""
    w = world(metadata_max_age_ms=500)
    heard = []
    w.metadata.on_cluster_id = heard.append
    w.brokers.script = lambda seen: (
        seen.edit(lambda body: replace(body, cluster_id="c")) if seen.api is Api.METADATA else None
    )
    w.settle(w.send())
    w.run(2_000)
    assert set(heard) == {"c"} and len(heard) == len(questions(w))
    assert w.metadata.controller_id == 1


def test_missing_common_version_fails_waiting_sends(world):
    """MET-16: the error is reported once, since the wait could never succeed."""
    w = world()
    w.brokers.offer(Api.METADATA, 90, 91)
    w.until(lambda: bool(w.told(MetadataFailed)))
    error = w.metadata.take_fatal_error()
    assert error is not None and error.name == "UNSUPPORTED_VERSION"
    assert w.metadata.take_fatal_error() is None


def test_good_response_clears_the_fatal_error(world):
    w = world()
    w.metadata.fail(TimeoutError("made-up", "old"))
    w.until(lambda: w.metadata.update_version > 0)
    assert w.metadata.take_fatal_error() is None


def test_disconnect_during_a_due_update_is_a_failed_update(world):
    """MET-02: with one bootstrap server that refuses connections, Metadata's own backoff grows too."""
    w = world()
    w.refuse()
    w.run(5_000)
    attempts = [event.attempts for event in w.told(MetadataFailed)]
    assert attempts == list(range(1, len(attempts) + 1))
    assert 4 <= len(attempts) <= 9


def test_response_after_the_wait_is_still_used(world):
    """NET-TMO-06: max.block.ms ends the wait, not the request. The next send uses the response."""
    w = world(max_block_ms=1_000)
    w.brokers.fates(then="late", api=Api.METADATA)
    start_ms = w.now_ms
    first = w.send()
    w.settle(first)
    assert w.now_ms == start_ms + 1_000 and isinstance(first.error, TimeoutError)
    w.run(1_500)
    w.brokers.fates()
    second = w.send()
    w.settle(second)
    assert second.error is None
    assert w.brokers.values() == [b"v1"]


def test_partitions_have_their_replicas(world):
    """PartitionInfo in Java: replicas, those in sync, and those that are offline, in a later leader's time too."""
    w = world(nodes=3)
    w.settle(w.send(topic="t", partition=0))
    known = w.metadata.topics["t"].partitions[0]
    assert known.leader in known.replicas and set(known.in_sync_replicas) <= set(known.replicas)
    assert set(known.offline_replicas) <= set(known.replicas)
    moved = w.metadata.update_partition_leadership({("t", 0): (2, known.epoch + 5)}, (), w.now_ms)
    later = w.metadata.topics["t"].partitions[0]
    assert moved == {("t", 0)} and (later.leader, later.replicas) == (2, known.replicas)
