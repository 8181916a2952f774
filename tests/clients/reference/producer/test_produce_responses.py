"""The parts of a Produce response, and topics that were deleted or recreated."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from clients.reference.errors import TimeoutError
from clients.reference.telemetry.trace import CallbackFailed
from harness.model.verdicts import Outcome
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME
from testkit.codes import has_error


def test_each_partition_of_a_response_is_handled_separately(world):
    """PRD-SND-04."""
    w = world(nodes=2)
    w.settle(w.send(partition=0), w.send(partition=2))
    w.cluster.move_leader("t", 2, 2, 0)
    well, moved = w.send(partition=0), w.send(partition=2)
    w.settle(well)
    assert not moved.is_done
    w.settle(moved)
    assert moved.error is None


def test_batch_missing_from_the_response_times_out(world):
    """PRD-SND-05: neither completed nor retried."""
    w = world(enable_idempotence=False, delivery_timeout_ms=2_000, request_timeout_ms=500)
    w.settle(w.send())
    w.brokers.script = lambda seen: (
        seen.edit(lambda body: replace(body, responses=()))
        if seen.api is Api.PRODUCE and len(w.brokers.requests()) == 2
        else None
    )
    start_ms = w.now_ms
    delivery = w.send()
    w.settle(delivery)
    assert w.now_ms == start_ms + 2_000
    assert isinstance(delivery.error, TimeoutError)
    assert delivery.error.outcome is Outcome.INFO
    assert len(w.brokers.requests()) == 2
    w.settle(w.send())


def test_partition_that_was_not_requested_is_traced_and_ignored(world):
    """PRD-SND-05."""

    def misplaced(body):
        (topic,) = body.responses
        extra = replace(topic.partition_responses[0], index=2)
        return replace(
            body, responses=(replace(topic, partition_responses=(*topic.partition_responses, extra)),)
        )

    w = world()
    w.brokers.script = lambda seen: seen.edit(misplaced) if seen.api is Api.PRODUCE else None
    delivery = w.send()
    w.settle(delivery)
    assert delivery.metadata.offset == 0
    assert [event.what for event in w.told(CallbackFailed)] == [
        "it contains t-2, which was not in the request"
    ]


@pytest.mark.parametrize("version", [7, 8, 12, 13])
def test_record_errors_apply_to_their_records(world, version):
    """PRD-SND-12, KIP-467. Before Produce version 8 there are no such errors."""
    w = world(linger_ms=50)
    w.brokers.offer(Api.PRODUCE, 0, version)
    w.cluster.alter_config("t", {"cleanup.policy": "compact"})
    deliveries = [w.send(key=key) for key in (b"1", None, b"3")]
    w.settle(*deliveries)
    assert {delivery.error.name for delivery in deliveries} == {"INVALID_RECORD"}
    named = [has_error(delivery.error, "record-refused", "without a key") for delivery in deliveries]
    assert named == [False, version >= 8, False]


def test_deleted_topic_fails_without_delaying_others(world):
    """PRD-SND-11."""
    w = world(delivery_timeout_ms=3_000, request_timeout_ms=1_000, linger_ms=0)
    w.cluster.create_topic("gone", 1)
    w.settle(w.send(topic="gone"), w.send(topic="t"))
    w.cluster.delete_topic("gone")
    start_ms = w.now_ms
    lost = w.send(topic="gone")
    for _ in range(20):
        other_ms = w.now_ms
        w.settle(w.send(topic="t"))
        assert w.now_ms - other_ms < 50
        w.run(50)
    w.settle(lost)
    assert isinstance(lost.error, TimeoutError)
    assert w.now_ms == start_ms + 3_000


def test_recreated_topic_gets_its_new_records(world):
    """PRD-SND-15: the broker rejects the old id, and its response is still matched to the batch."""
    w = world(linger_ms=0)
    w.settle(w.send())
    old_id = w.metadata.topics["t"].topic_id
    w.cluster.recreate_topic("t")
    delivery = w.send()
    w.settle(delivery)
    assert delivery.error is None
    new_id = w.metadata.topics["t"].topic_id
    assert new_id != old_id
    ids = [seen.body.topic_data[0].topic_id for seen in w.brokers.requests()]
    assert ids == [old_id, old_id, new_id]
    assert w.brokers.values() == [b"v1"]


def test_error_names_for_missing_permissions(world):
    """PRD-SND-03."""
    w = world()
    w.brokers.fates(BY_NAME["TOPIC_AUTHORIZATION_FAILED"].code)
    delivery = w.send()
    w.settle(delivery)
    assert has_error(delivery.error, "batch-refused")
    w.settle(w.send())


def test_response_with_the_previous_topic_id_completes_its_batch(world):
    """PRD-SND-15: metadata learned the topic's new id while the request was in flight."""
    w = world(linger_ms=0)
    w.settle(w.send())
    delivery = w.send()
    w.rounds()
    known = w.metadata.topics
    known["t"] = replace(known["t"], topic_id=UUID(int=0x9999))
    start_ms = w.now_ms
    w.settle(delivery)
    assert (delivery.error, w.now_ms - start_ms) == (None, 0)
