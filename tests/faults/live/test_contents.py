"""Faults on what readers find in a topic, and what a broker lets a writer bring about."""

from __future__ import annotations

import time
from dataclasses import replace

import crc32c
import pytest

from faults.kinds.compaction import BATCHES, superseded
from harness.brokers.admin import LATEST
from harness.model.consumer_contract import Subscribe
from harness.model.contract import AnyEvent
from harness.model.errors import KafkaTrialError
from harness.model.harness_events import AsideWritten, TransactionEnded
from harness.trial.group import Group
from harness.wire.records import BatchBuilder
from testkit.codes import raises_code

from .conftest import Peer

pytestmark = pytest.mark.jvm


def beside(peer: Peer, topic: str) -> list[AnyEvent]:
    """Let the harness write to a topic of one partition, without members. Return its events."""
    told: list[AnyEvent] = []
    group: Group[object] = Group(
        topic,
        Subscribe(0, [topic]),
        told.append,
        lambda: (time.monotonic_ns(), time.time_ns()),
        store=peer.cluster.contents,
        partitions=1,
        is_static=False,
    )
    peer.lane = replace(peer.lane, topic=topic, members=group)  # type: ignore[arg-type]
    return told


@pytest.mark.control(
    "compaction",
    client="the harness's own reader gets the newest record of each key, and no other",
    broker="the log has no record at the offsets whose key comes again",
    untouched=(
        "the other topic's partitions keep their leaders, and accept records, during the fault and afterwards"
    ),
)
async def test_the_log_cleaner_removes_all_but_the_newest(peer: Peer) -> None:
    await peer.eventually("NONE")
    begin = await peer.cluster.admin.log_end("t", 0)
    async with peer.under("compaction"):
        rows = [row for row in await peer.cluster.read_log("t") if row.offset >= begin]
        written = {begin + offset for offset in range(sum(map(len, BATCHES)))}
        assert {row.offset for row in rows} == written - {begin + offset for offset in superseded()}


async def test_a_broker_refuses_a_batch_whose_offsets_have_gaps(peer: Peer) -> None:
    """So gaps in a real log are the cleaner's work."""
    builder = BatchBuilder()
    for _ in range(2):
        builder.append(0, None, b"v")
    batch = bytearray(builder.build())
    batch[23:27] = (4).to_bytes(4, "big")  # the last offset's distance: five offsets for two records
    batch[17:21] = crc32c.crc32c(bytes(batch[21:])).to_bytes(4, "big")
    with raises_code(KafkaTrialError, "broker-error", error="INVALID_RECORD"):
        await peer.cluster.contents.append("t", 0, bytes(batch))


@pytest.mark.control(
    "open_transaction",
    client="the last stable offset, up to which read_committed reads, stays at the transaction's first record",
    broker="the records are in the log at once, and their markers at the end",
    untouched=(
        "the other topic's partitions keep their leaders, and accept records, during the fault and afterwards"
    ),
)
async def test_an_open_transaction_holds_the_last_stable_offset(peer: Peer) -> None:
    told = beside(peer, "t")
    admin = peer.cluster.admin
    begin = await admin.log_end("t", 0)
    async with peer.under("open_transaction", records=3, commits=0):
        assert await admin.list_offsets("t", 0, LATEST) == begin + 3
        assert await admin.list_offsets("t", 0, LATEST, committed=True) == begin
    await peer.cluster.contents.stable("t", 0)
    [end] = told
    assert isinstance(end, TransactionEnded) and not end.committed
    rows = [row for row in await peer.cluster.read_log("t") if row.producer_id == end.producer_id]
    assert [row.offset for row in rows[:3]] == end.offsets
    assert [(row.control, row.key) for row in rows] == [(False, None)] * 3 + [(True, "ABORT")]


@pytest.mark.control(
    "unclean_election",
    client="the records that only the old leader had cannot be read any more, and others take their offsets",
    broker="the other replica leads, and the log ends before those records",
    untouched="the third broker keeps its partitions of the other topic, during the fault and afterwards",
)
async def test_a_replica_without_records_leads(peer: Peer) -> None:
    await peer.cluster.create_topic("u", 1)
    told = beside(peer, "u")
    first, second, _ = peer.cluster.node_ids
    async with peer.under("unclean_election", first, second, records=5):
        assert await peer.cluster.leader("u", 0) == first
        assert await peer.cluster.admin.list_offsets("u", 0, LATEST) == 5
    [written] = told
    assert isinstance(written, AsideWritten) and written.offsets == [0, 1, 2, 3, 4]
    assert await peer.cluster.leader("u", 0) == second
    rows = await peer.cluster.read_log("u")
    assert rows and not {row.value for row in rows} & set(written.values)
