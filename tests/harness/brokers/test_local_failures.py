"""Failures of clusters: each test starts its own, and no process or file of it may remain."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import shutil
import signal
import socket
import tempfile
from pathlib import Path
from typing import Any

import pytest

from harness.brokers.admin import LATEST
from harness.brokers.layout import ClusterId, Layout
from harness.brokers.local import LOCAL, LocalCluster, java_command
from harness.model.errors import BrokerDied
from harness.system import processes
from harness.system.port_allocator import port_block
from harness.wire.records import Codec
from testkit.codes import raises_code

pytestmark = pytest.mark.jvm


def test_a_dead_broker_is_reported_with_its_log_and_cleaned_up(lab: Any, tmp_path: Path) -> None:
    async def steps() -> None:
        async with LOCAL.cluster("3.9.2", lanes=1, log_dir=tmp_path) as cluster:
            assert (cluster.version, cluster.node_ids) == ("3.9.2", (1,))
            await cluster.create_topic("old", 3)
            await lab.produce(cluster, "old", lab.batch(Codec.ZSTD, 20), partition=2)
            assert [row.offset for row in await cluster.read_log("old")] == list(range(20))
            [process] = lab.our_brokers()
            os.kill(process.pid, signal.SIGKILL)
            reason = await lab.until(cluster.died)
            assert reason.startswith(
                f"broker 1 ended by itself (SIGKILL); the end of {tmp_path / 'node-1.log'}:"
            )
            assert "INFO" in reason
            for action in (cluster.restart, cluster.stop, cluster.kill, cluster.pause, cluster.resume):
                with raises_code(BrokerDied, "broker-died", how=re.compile("SIGKILL")):
                    await action(1)
            raise ZeroDivisionError  # the cluster is removed also after an error in its context

    before = set(Path(tempfile.gettempdir()).glob("kafka-trial-*"))
    with pytest.raises(ZeroDivisionError):
        asyncio.run(steps())
    assert lab.our_brokers() == []
    assert set(Path(tempfile.gettempdir()).glob(f"kafka-trial-{os.getpid()}-*")) <= before
    assert "started (kafka.server.KafkaRaftServer)" in (tmp_path / "node-1.log").read_text()


@pytest.mark.extended
def test_a_cluster_of_three_survives_the_loss_of_one(lab: Any, tmp_path: Path) -> None:
    async def steps() -> None:
        async with LOCAL.cluster("4.3.1x3", lanes=1, log_dir=tmp_path) as cluster:
            assert cluster.node_ids == (1, 2, 3)
            assert sorted((address.broker, address.lane) for address in cluster.addresses) == [
                (1, 0),
                (2, 0),
                (3, 0),
            ]
            await cluster.create_topic("spread", 3)
            [topic] = (await cluster.admin.metadata(1, "spread")).topics
            assert all(sorted(part.replica_nodes) == [1, 2, 3] for part in topic.partitions)
            for partition in range(3):
                await lab.produce(cluster, "spread", lab.batch(Codec.SNAPPY, 10), partition)
            rows = await cluster.read_log("spread")
            assert [(row.partition, row.offset) for row in rows] == [
                (p, n) for p in range(3) for n in range(10)
            ]
            await _unreplicated_record_is_waited_for(lab, cluster)
            rows = await cluster.read_log("spread")
            await cluster.kill(1)
            assert await cluster.read_log("spread") == rows
            await cluster.restart(1)
            assert cluster.died() is None
            await cluster.create_topic("afterwards", 3)
            assert len(lab.our_brokers()) == 3
        assert lab.our_brokers() == []

    asyncio.run(steps())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["node-1.log", "node-2.log", "node-3.log"]


async def _unreplicated_record_is_waited_for(lab: Any, cluster: LocalCluster) -> None:
    """A record that only the frozen followers lack is before the log's end, but not visible to consumers."""
    followers = (1, 2)
    [topic] = (await cluster.admin.metadata(3, "spread")).topics
    partition = next(part.partition_index for part in topic.partitions if part.leader_id == 3)
    for follower in followers:
        await cluster.pause(follower)
    await lab.produce(cluster, "spread", lab.batch(Codec.NONE, 1), partition, acks=1)
    assert await cluster.admin.list_offsets("spread", partition, LATEST) == 10
    assert await cluster.admin.log_end("spread", partition) == 11
    for follower in followers:
        await cluster.resume(follower)
    rows = await cluster.read_log("spread")
    assert [row.offset for row in rows if row.partition == partition] == list(range(11))


def test_a_broker_that_cannot_start_is_reported_with_its_log(lab: Any, tmp_path: Path) -> None:
    async def steps(ports: range, folder: Path) -> None:
        layout = Layout.deal(ports, 1, 1)
        taken = layout.nodes[0].lanes[0].listener
        cluster = LocalCluster(ClusterId("4.3.1", 1), layout, java_command("4.3.1"), folder, tmp_path)
        with socket.create_server(taken):
            try:
                with raises_code(BrokerDied, "broker-died", how=re.compile("^broker 1 ")) as raised:
                    await cluster.start()
                assert os.strerror(errno.EADDRINUSE) in str(raised.value)
            finally:
                await cluster.close()
        assert lab.our_brokers() == []

    with port_block(Layout.ports_needed(1, 1)) as ports:
        folder = processes.scratch_dir()
        asyncio.run(steps(ports, folder))
        shutil.rmtree(folder)
