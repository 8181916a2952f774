"""Changes to a running cluster: each is effective on all brokers when the call returns."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path
from typing import Any

import pytest

from harness.brokers.admin import EARLIEST
from harness.brokers.local import LOCAL, LocalCluster
from harness.model.errors import KafkaTrialError
from harness.wire.records import BatchBuilder, Codec
from testkit.codes import raises_code

pytestmark = pytest.mark.jvm

TOPIC = "altered"


def test_each_change_is_effective_when_the_call_returns(lab: Any, tmp_path: Path) -> None:
    async def steps() -> None:
        async with LOCAL.cluster("4.3.1x3", lanes=1, log_dir=tmp_path) as cluster:
            await cluster.create_topic(TOPIC, 2)
            for change in (
                leaders_move,
                topics_grow,
                logs_are_cut,
                sizes_are_limited,
                brokers_are_set,
                producers_are_forgotten,
                topics_go,
            ):
                await change(lab, cluster)

    asyncio.run(steps())


async def leaders_move(lab: Any, cluster: LocalCluster) -> None:
    before = await cluster.admin.leader(TOPIC, 0)
    for node_id in (before % 3 + 1, before):
        await cluster.alterations.move_leader(TOPIC, 0, node_id)
        assert await cluster.admin.leader(TOPIC, 0) == node_id
        await lab.produce(cluster, TOPIC, lab.batch(Codec.NONE, 1))
    others = [node_id for node_id in cluster.node_ids if node_id != before]
    await asyncio.gather(*(cluster.alterations.move_leader(TOPIC, 0, node_id) for node_id in others))
    assert await cluster.admin.leader(TOPIC, 0) == others[-1]
    for node_id in cluster.node_ids:
        [found] = (await cluster.admin.metadata(node_id, TOPIC)).topics
        assert all(len(part.replica_nodes) == 3 for part in found.partitions)


async def topics_grow(lab: Any, cluster: LocalCluster) -> None:
    await cluster.alterations.add_partitions(TOPIC, 4)
    assert await cluster.admin.partitions(TOPIC) == [0, 1, 2, 3]
    await lab.produce(cluster, TOPIC, lab.batch(Codec.NONE, 1), 3)


async def logs_are_cut(lab: Any, cluster: LocalCluster) -> None:
    """Records with acks=1 that are not replicated yet can be deleted too."""
    await lab.produce(cluster, TOPIC, lab.batch(Codec.NONE, 5), 1, acks=1)
    assert await cluster.alterations.delete_records(TOPIC, 1, 3) is None
    assert await cluster.admin.list_offsets(TOPIC, 1, EARLIEST) == 3
    assert await cluster.alterations.delete_records(TOPIC, 1, 6) == 1  # OFFSET_OUT_OF_RANGE
    assert await cluster.alterations.delete_records(TOPIC, 1) is None
    assert await cluster.admin.list_offsets(TOPIC, 1, EARLIEST) == 5


async def sizes_are_limited(lab: Any, cluster: LocalCluster) -> None:
    await cluster.alterations.alter_topic(TOPIC, "max.message.bytes", "100")

    async def refused() -> bool:
        try:
            await lab.produce(cluster, TOPIC, lab.batch(Codec.NONE, 5))
        except KafkaTrialError as error:
            return "MESSAGE_TOO_LARGE" in str(error)
        return False

    while not await refused():
        pass  # a broker applies a setting shortly after the controller has accepted it
    await cluster.alterations.alter_topic(TOPIC, "max.message.bytes", None)
    while await refused():
        pass


async def brokers_are_set(_: Any, cluster: LocalCluster) -> None:
    await cluster.alterations.alter_brokers("producer.id.expiration.ms", "1000")
    await cluster.alterations.alter_brokers("producer.id.expiration.ms", None)
    with raises_code(KafkaTrialError, "broker-error", error=re.compile("INVALID_(REQUEST|CONFIG)")):
        await cluster.alterations.alter_brokers("log.dirs", "/nowhere")


async def producers_are_forgotten(lab: Any, cluster: LocalCluster) -> None:
    builder = BatchBuilder()
    builder.append(
        time.time_ns() // 1_000_000, None, b"v"
    )  # a broker uses the record's timestamp as the age of the producer
    await lab.produce(cluster, TOPIC, builder.build(7, 0, 0))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await cluster.alterations.forget_producers(TOPIC, 0)
    await cluster.alterations.alter_brokers("producer.id.expiration.ms", "1")
    await cluster.alterations.forget_producers(TOPIC, 0)
    await cluster.alterations.alter_brokers("producer.id.expiration.ms", None)


async def topics_go(_: Any, cluster: LocalCluster) -> None:
    await cluster.alterations.delete_topic(TOPIC)
    await cluster.alterations.delete_topic(TOPIC)
    for node_id in cluster.node_ids:
        [found] = (await cluster.admin.metadata(node_id, TOPIC)).topics
        assert found.error_code == 3
