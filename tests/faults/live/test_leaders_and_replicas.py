"""Faults of leaders and replicas."""

from __future__ import annotations

import pytest

from harness.brokers.connection import NotYet

from .conftest import Peer

pytestmark = pytest.mark.jvm


@pytest.mark.control(
    "leader_move",
    client="the old leader responds NOT_LEADER_OR_FOLLOWER, the new one accepts the record",
    broker="every broker names another leader, in a later epoch",
    untouched=(
        "the other topic's partitions, also on the same broker, keep their leaders, and accept records,"
        " during the fault and afterwards"
    ),
)
async def test_leaders_move(peer: Peer) -> None:
    before = await peer.leader()
    led = await peer.served_beside([before])
    epoch = (await peer.first(before)).leader_epoch
    async with peer.under("leader_move", before):
        assert await peer.leader() != before
        for node_id in peer.cluster.node_ids:
            moved = await peer.first(node_id)
            assert moved.leader_id != before and moved.leader_epoch > epoch
        assert await peer.produce(before) == "NOT_LEADER_OR_FOLLOWER"
        await peer.eventually("NONE")
        assert led and await peer.served_beside([before]) == led


@pytest.mark.control(
    "min_isr",
    client="the response to acks=all is NOT_ENOUGH_REPLICAS, acks=1 is accepted; the follower is gone",
    broker="the leader names two replicas in sync, without the follower",
    untouched=(
        "other brokers keep the lead of their partitions of the other topic, and accept"
        " records, with acks=all too, during the fault and afterwards"
    ),
)
async def test_replicas_fall_behind(peer: Peer) -> None:
    leader = await peer.leader()
    follower = leader % 3 + 1
    async with peer.under("min_isr", follower):
        await peer.eventually("NOT_ENOUGH_REPLICAS")
        in_sync = (await peer.first(leader)).isr_nodes
        assert follower not in in_sync and len(in_sync) == 2
        await peer.eventually("NONE", acks=1)
        with pytest.raises(NotYet):
            await peer.internal(follower)
        assert await peer.produce(follower) == "gone"
        others = [node_id for node_id in peer.cluster.node_ids if node_id != follower]
        assert await peer.served_beside(others, acks=-1)
