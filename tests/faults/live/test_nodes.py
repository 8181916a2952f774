"""Faults that pause, kill and restart brokers."""

from __future__ import annotations

import asyncio

import pytest
from kio.schema.errors import ErrorCode

from harness.brokers.connection import NotYet
from harness.brokers.deadline import insist
from harness.model.rows import FrameKind
from harness.wire.apis import Api

from .conftest import Peer

pytestmark = pytest.mark.jvm


@pytest.mark.control(
    "broker_pause",
    client="a request on an open connection gets no response until the fault ends",
    broker="it does not respond over INTERNAL until the fault ends; the record is in the log afterwards",
    untouched=(
        "other brokers keep the lead of their partitions of the other topic, and accept"
        " records, during the fault and afterwards"
    ),
)
async def test_paused_brokers_do_not_respond(peer: Peer) -> None:
    leader = await peer.leader()
    others = [node_id for node_id in peer.cluster.node_ids if node_id != leader]
    size = await peer.log_size()
    connection = peer.to(leader)
    await connection.versions()
    async with peer.under("broker_pause", leader):
        asked = [
            asyncio.ensure_future(work)
            for work in (peer.result_of_produce(leader, by=connection), peer.internal(leader))
        ]
        await insist("arriving", 30, lambda: _arrived(peer))
        assert await peer.served_beside(others)
        assert not any(task.done() for task in asked)
    answer, _ = await asyncio.gather(*asked)
    assert answer.error_code is ErrorCode.none
    assert await peer.log_size() == size + 2


async def _arrived(peer: Peer) -> None:
    if not any(frame.kind is FrameKind.REQUEST and frame.api_key == Api.PRODUCE for frame in peer.frames):
        raise NotYet("made-up", "the witness has no request")


@pytest.mark.control(
    "broker_kill",
    client="the open connection ends; new connections are refused; another broker accepts the record",
    broker="it does not respond over INTERNAL either; the others agree on another leader",
    untouched=(
        "other brokers keep the lead of their partitions of the other topic, and accept"
        " records, during the fault and afterwards"
    ),
)
async def test_killed_brokers_are_replaced(peer: Peer) -> None:
    await _go_down(peer, "broker_kill")


@pytest.mark.control(
    "broker_restart",
    client="the open connection ends; new connections are refused; another broker accepts the record",
    broker="it does not respond over INTERNAL either; the others agree on another leader",
    untouched=(
        "other brokers keep the lead of their partitions of the other topic, and accept"
        " records, during the fault and afterwards"
    ),
)
async def test_restarted_brokers_return(peer: Peer) -> None:
    await _go_down(peer, "broker_restart")


async def _go_down(peer: Peer, kind: str) -> None:
    leader = await peer.leader()
    connection = peer.to(leader)
    await connection.versions()
    async with peer.under(kind, leader):
        with pytest.raises(NotYet):
            await connection.versions()
        with pytest.raises(NotYet) as refused:
            await peer.result_of_produce(leader)
        assert isinstance(refused.value.__cause__, ConnectionRefusedError)
        with pytest.raises(NotYet):
            await peer.internal(leader)
        await peer.eventually("NONE")
        assert await peer.leader() != leader
    assert await peer.internal(leader)
