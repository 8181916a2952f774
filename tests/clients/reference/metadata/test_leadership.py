"""An error that names the new leader saves a Metadata round trip, and the retry needs no backoff (MET-09)."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.produce.v13.response import LeaderIdAndEpoch

from clients.reference.telemetry.trace import BatchSent
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME

NOT_LEADER = BY_NAME["NOT_LEADER_OR_FOLLOWER"].code
FENCED = BY_NAME["FENCED_LEADER_EPOCH"].code


def moved(world, *, answer=lambda seen: None, version=13):
    """Return a producer whose next batch broker 1 rejects with ``answer``, since broker 2 leads. Metadata is lost."""
    w = world(nodes=2, linger_ms=0, retry_backoff_ms=5_000, retry_backoff_max_ms=5_000)
    w.brokers.offer(Api.PRODUCE, 0, version)
    w.settle(w.send())
    w.cluster.move_leader("t", 0, 2, 0)

    def script(seen):
        if seen.api is Api.METADATA:
            return "lose"
        return answer(seen) if seen.api is Api.PRODUCE and seen.node_id == 1 else None

    w.brokers.script = script
    return w


@pytest.mark.parametrize("code", [NOT_LEADER, FENCED])
def test_retry_goes_to_the_new_leader_at_once(world, code):
    """MET-09, KIP-951: before any Metadata response, and before the backoff ends."""
    w = moved(world, answer=lambda seen: seen.tell(error_code=ErrorCode(code)))
    start_ms = w.now_ms
    delivery = w.send()
    w.settle(delivery)
    assert delivery.error is None
    assert w.now_ms - start_ms < 100
    assert [event.node for event in w.told(BatchSent)] == [1, 1, 2]


def test_known_epoch_changes_nothing(world):
    """MET-09: the same epoch may name any leader. The retry waits for its backoff."""
    stale = LeaderIdAndEpoch(leader_id=2, leader_epoch=0)
    w = moved(world, answer=lambda seen: seen.tell(current_leader=stale))
    w.send()
    w.run(4_000)
    assert [event.node for event in w.told(BatchSent)] == [1, 1]


def test_before_produce_10_errors_name_no_leader(world):
    w = moved(world, version=9)
    w.send()
    w.run(4_000)
    assert [event.node for event in w.told(BatchSent)] == [1, 1]
    assert w.metadata.topics["t"].partitions[0].leader == 1


def test_newer_leader_from_metadata_skips_the_backoff(world):
    """PRD-ACC-04, PRD-SND-10: the change that the backoff would wait for has happened."""
    w = world(nodes=2, linger_ms=0, retry_backoff_ms=5_000, retry_backoff_max_ms=5_000)
    w.settle(w.send())
    w.run(6_000)
    w.cluster.move_leader("t", 0, 2, 0)
    start_ms = w.now_ms
    w.settle(w.send())
    assert w.now_ms - start_ms < 1_000
    assert [event.node for event in w.told(BatchSent)] == [1, 1, 2]


def test_second_retry_to_the_same_leader_has_a_backoff(world):
    """PRD-ACC-04: only the first retry to a new leader skips the backoff."""
    w = moved(world)
    inner = w.brokers.script
    w.brokers.script = lambda seen: 19 if seen.api is Api.PRODUCE and seen.node_id == 2 else inner(seen)
    w.send()
    w.run(4_000)
    assert [event.node for event in w.told(BatchSent)] == [1, 1, 2]
    w.run(2_000)
    assert [event.node for event in w.told(BatchSent)] == [1, 1, 2, 2]
