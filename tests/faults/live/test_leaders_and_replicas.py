"""Who leads a partition, and who follows."""

from __future__ import annotations

import pytest

from harness.brokers.connection import NotYet

from .conftest import Peer

pytestmark = pytest.mark.jvm


@pytest.mark.control(
    "leader_move",
    client="the old leader answers NOT_LEADER_OR_FOLLOWER, the new one takes the record",
    broker="every broker names another leader, in a later epoch",
    untouched=(
        "the other topic's partitions, those of the same broker too, are led as before, and take records,"
        " meanwhile and afterwards"
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
        await peer.hears("NONE")
        assert led and await peer.served_beside([before]) == led


@pytest.mark.control(
    "min_isr",
    client="acks=all is answered NOT_ENOUGH_REPLICAS, acks=1 is taken; the follower is gone",
    broker="the leader names two replicas in sync, without the follower",
    untouched=(
        "of the other topic, what brokers lead that the fault does not name they lead as before, and take"
        " records, meanwhile and afterwards, acks=all too"
    ),
)
async def test_replicas_fall_behind(peer: Peer) -> None:
    leader = await peer.leader()
    follower = leader % 3 + 1
    async with peer.under("min_isr", follower):
        await peer.hears("NOT_ENOUGH_REPLICAS")
        in_sync = (await peer.first(leader)).isr_nodes
        assert follower not in in_sync and len(in_sync) == 2
        await peer.hears("NONE", acks=1)
        with pytest.raises(NotYet):
            await peer.internal(follower)
        assert await peer.produce(follower) == "gone"
        others = [node_id for node_id in peer.cluster.node_ids if node_id != follower]
        assert await peer.served_beside(others, acks=-1)
