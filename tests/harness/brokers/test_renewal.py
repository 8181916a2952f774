"""A used cluster is reused only if it is as new:

each kind of state is left once, and is removed or detected.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.find_coordinator.v4 import FindCoordinatorRequest, FindCoordinatorResponse
from kio.schema.init_producer_id.v4 import InitProducerIdRequest, InitProducerIdResponse
from kio.schema.produce.v9 import ProduceRequest, ProduceResponse
from kio.schema.produce.v9.request import PartitionProduceData, TopicProduceData
from kio.schema.types import TopicName
from kio.static.primitive import Records, i8, i16, i32, i32Timedelta

from harness.brokers.admin import TIMEOUT_S
from harness.brokers.connection import BrokerConnection
from harness.brokers.deadline import NO_ANSWER, insist
from harness.brokers.local import LOCAL, LocalCluster
from harness.plugins import registry
from harness.wire.records import Codec

pytestmark = pytest.mark.jvm

EXPIRATION, RATE = "producer.id.expiration.ms", "producer_byte_rate"


@pytest.mark.parametrize("broker", ["4.3.1x3", pytest.param("3.9.2x3", marks=pytest.mark.extended)])
def test_everything_that_a_trial_leaves_is_removed_or_detected(broker: str, lab: Any, tmp_path: Path) -> None:
    async def steps() -> None:
        async with LOCAL.cluster(broker, lanes=1, log_dir=tmp_path) as cluster:
            assert await cluster.renew() is None
            for step in (
                topics_and_their_settings_go,
                settings_of_brokers_are_found,
                quotas_are_found,
                nodes_that_do_not_run_are_found,
                leaders_and_replicas_are_as_new,
                coordinators_are_found,
            ):
                await step(lab, cluster)

    asyncio.run(steps())


async def lack(cluster: LocalCluster) -> str | None:
    """Return why the cluster is not as new; repeat while the brokers do not answer within a second."""
    while (reason := await cluster.renew(as_new_s=1.0)) is not None and NO_ANSWER in reason:
        pass
    return reason


async def topics_and_their_settings_go(lab: Any, cluster: LocalCluster) -> None:
    """A topic that is created again is a different one: empty, without its settings and without producers."""
    await cluster.create_topic("mine", 3)
    await cluster.alterations.alter_topic("mine", "max.message.bytes", "500")
    await lab.produce(
        cluster, "mine", lab.batch(Codec.NONE, 3, producer_id=7, producer_epoch=0, base_sequence=0)
    )
    await cluster.alterations.delete_records("mine", 0)
    await cluster.alterations.add_partitions("mine", 5)
    assert await cluster.renew() is None
    for node_id in cluster.node_ids:
        [found] = (await cluster.admin.metadata(node_id, "mine")).topics
        assert found.error_code == ErrorCode.unknown_topic_or_partition
    await cluster.create_topic("mine", 3)
    assert await cluster.read_log("mine") == [] and await cluster.partitions("mine") == [0, 1, 2]
    await cluster.alterations.forget_producers("mine", 0)
    await lab.produce(cluster, "mine", lab.batch(Codec.NONE, 1, 2_000))
    assert await cluster.renew() is None


async def settings_of_brokers_are_found(lab: Any, cluster: LocalCluster) -> None:
    await cluster.alterations.alter_brokers(EXPIRATION, "1")
    reason = await lack(cluster)
    assert reason is not None and all(each in reason for each in (EXPIRATION, " 1, 3,", " 86400000, 5"))
    await cluster.alterations.alter_brokers(EXPIRATION, None)
    assert await cluster.renew() is None


async def quotas_are_found(lab: Any, cluster: LocalCluster) -> None:
    await cluster.alterations.alter_quota(RATE, 1_000)
    reason = await lack(cluster)
    assert reason is not None and RATE in reason
    await cluster.alterations.alter_quota(RATE, None)
    assert await cluster.renew() is None


async def nodes_that_do_not_run_are_found(lab: Any, cluster: LocalCluster) -> None:
    await cluster.pause(2)
    assert await lack(cluster) == "broker 2 is paused"
    await cluster.resume(2)
    await cluster.stop(3)
    assert await lack(cluster) == "broker 3 is down"
    await cluster.restart(3)
    assert await cluster.renew() is None


async def leaders_and_replicas_are_as_new(lab: Any, cluster: LocalCluster) -> None:
    """A restarted broker leads nothing, but leads the partitions of a new topic as preferred replica."""
    await cluster.create_topic("led", 3)
    await cluster.kill(1)
    await cluster.restart(1)
    for partition in range(3):
        await cluster.alterations.move_leader("led", partition, 2)
    assert await cluster.renew() is None
    await cluster.create_topic("led", 3)
    for node_id in cluster.node_ids:
        [found] = (await cluster.admin.metadata(node_id, "led")).topics
        assert all(part.leader_id == part.replica_nodes[0] for part in found.partitions)
        assert {int(part.leader_id) for part in found.partitions} == set(cluster.node_ids)
        assert all(part.leader_epoch == 0 for part in found.partitions)
        assert all(set(part.isr_nodes) == set(part.replica_nodes) for part in found.partitions)
    assert await cluster.renew() is None


async def coordinators_are_found(lab: Any, cluster: LocalCluster) -> None:
    """Producer ids without a transaction leave nothing, but the topic of a coordinator stays."""
    request = InitProducerIdRequest(
        transactional_id=None, transaction_timeout=i32Timedelta.parse(timedelta(0))
    )
    await cluster.admin.ask(request, InitProducerIdResponse)
    assert await cluster.renew() is None
    await cluster.admin.ask(
        FindCoordinatorRequest(key_type=i8(1), coordinator_keys=("mine",)), FindCoordinatorResponse
    )
    await insist("electing coordinators", TIMEOUT_S, lambda: cluster.admin.all_lead("__transaction_state", 4))
    reason = await lack(cluster)
    assert reason is not None and "'__transaction_state'" in reason


def test_measured_rates_expire_after_the_lingering_time_of_the_fault(lab: Any, tmp_path: Path) -> None:
    """Rates cannot be queried.

    A quota that is set again at once throttles because of earlier records, and one that is set later does
    not.
    """

    async def throttled_ms(cluster: LocalCluster, bytes_: int) -> int:
        data = lab.batch(Codec.NONE, 1, bytes_)
        part = PartitionProduceData(index=i32(0), records=Records(data))
        request = ProduceRequest(
            transactional_id=None,
            acks=i16(1),
            timeout=i32Timedelta.parse(timedelta(seconds=5)),
            topic_data=(TopicProduceData(name=TopicName("t"), partition_data=(part,)),),
        )
        connection = BrokerConnection(
            cluster.internal_addresses[1], credentials=cluster.credentials
        )  # the broker does not read from a throttled connection for a while
        try:
            answer = await connection.request(request, ProduceResponse)
        finally:
            connection.close()
        return int(answer.throttle_time / timedelta(milliseconds=1))

    async def steps() -> None:
        async with LOCAL.cluster("4.3.1", lanes=0, log_dir=tmp_path) as cluster:
            quota, lingers_s = cluster.alterations.alter_quota, registry.fault("quota").lingers_s
            await cluster.create_topic("t", 1)
            await quota(RATE, 1_000)
            assert await throttled_ms(cluster, 30_000) > 0
            await quota(RATE, None)
            assert await throttled_ms(cluster, 30_000) == 0
            await quota(RATE, 1_000)
            assert await throttled_ms(cluster, 100) > 0
            await quota(RATE, None)
            await asyncio.sleep(lingers_s)
            await quota(RATE, 1_000)
            assert await throttled_ms(cluster, 100) == 0

    asyncio.run(steps())
