"""Real clusters.

All tests that leave a cluster unchanged share one, and each other test starts its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pytest
from kio.schema.add_partitions_to_txn.v3 import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from kio.schema.add_partitions_to_txn.v3.request import AddPartitionsToTxnTopic
from kio.schema.end_txn.v3 import EndTxnRequest, EndTxnResponse
from kio.schema.find_coordinator.v4 import FindCoordinatorRequest, FindCoordinatorResponse
from kio.schema.init_producer_id.v4 import InitProducerIdRequest, InitProducerIdResponse
from kio.schema.metadata.v12 import MetadataResponse
from kio.schema.types import ProducerId, TopicName, TransactionalId
from kio.static.primitive import i8, i16, i32, i32Timedelta

from harness.brokers.admin import EARLIEST, LATEST, metadata_request
from harness.brokers.connection import BrokerConnection, NotYet, require
from harness.brokers.deadline import insist
from harness.brokers.local import LOCAL, LocalCluster
from harness.brokers.log_reader import read_log
from harness.model.errors import KafkaTrialError
from harness.model.payload import SHORT_BYTES
from harness.wire.messages import encode_request
from harness.wire.records import Codec
from testkit.codes import coded, raises_code

pytestmark = pytest.mark.jvm

T = TypeVar("T")
TEN_SECONDS = i32Timedelta.parse(timedelta(seconds=10))


@pytest.fixture(scope="module")
def log_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs") / "made-if-missing"


@pytest.fixture(scope="module")
def kafka(loop: asyncio.Runner, log_dir: Path) -> Iterator[LocalCluster]:
    context = LOCAL.cluster("4.3.1x1", lanes=2, log_dir=log_dir)
    cluster = loop.run(context.__aenter__())
    try:
        yield cluster
    finally:
        loop.run(context.__aexit__(None, None, None))


@pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name)
def test_produced_records_are_read_back_with_every_codec(
    loop: asyncio.Runner, lab: Any, kafka: LocalCluster, codec: Codec
) -> None:
    topic = f"codec-{codec.name.lower()}"

    async def steps() -> None:
        await kafka.create_topic(topic, 2)
        first = lab.batch(codec, 50, producer_id=4_000 + codec, producer_epoch=0, base_sequence=0)
        second = lab.batch(codec, 7, producer_id=4_000 + codec, producer_epoch=0, base_sequence=50)
        assert await lab.produce(kafka, topic, first, partition=1) == 0
        assert await lab.produce(kafka, topic, second, partition=1) == 50
        rows = await kafka.read_log(topic)
        assert [(row.partition, row.offset, row.sequence) for row in rows] == [(1, n, n) for n in range(57)]
        assert [row.base_offset for row in rows] == [0] * 50 + [50] * 7
        assert [row.value for row in rows] == [
            f"{codec.name}-{n}-".ljust(10, ".") for n in (*range(50), *range(7))
        ]
        assert [row.key for row in rows[:50]] == [f"k{n}" for n in range(50)]
        assert [row.timestamp_ms for row in rows[:50]] == [1_700_000_000_000 + n for n in range(50)]
        assert {(row.producer_id, row.producer_epoch) for row in rows} == {(4_000 + codec, 0)}
        assert all(row.crc_ok and not row.control for row in rows)
        data = await kafka.admin.fetch(topic, 1, 0)
        stored = data.records or b""
        assert (
            stored[21 : len(first)] == first[21:]
        )  # the log contains unchanged all bytes that the CRC covers

    loop.run(steps())


def test_a_log_larger_than_one_fetch_is_read_completely(
    loop: asyncio.Runner, lab: Any, kafka: LocalCluster
) -> None:
    async def steps() -> None:
        await kafka.create_topic("large", 1)
        for _ in range(4):
            await lab.produce(kafka, "large", lab.batch(Codec.NONE, 5, size_bytes=130_000))
        rows = await kafka.read_log("large")
        assert [(row.offset, row.value_bytes) for row in rows] == [(n, 130_000) for n in range(20)]
        assert all(row.value == f"NONE-{n % 5}-".ljust(SHORT_BYTES, ".") for n, row in enumerate(rows))

    loop.run(steps())


def test_commit_and_abort_markers_are_in_the_log(loop: asyncio.Runner, lab: Any, kafka: LocalCluster) -> None:
    async def marked() -> None:
        if not (await kafka.read_log("ends"))[-1].control:
            raise NotYet("made-up", "there is no marker")

    async def transaction(commit: bool) -> int:
        name = TransactionalId("commits" if commit else "aborts")

        async def attempt(message: Any, answer: type[T]) -> T:
            async def once() -> T:
                found = await kafka.admin.ask(message, answer, 1)
                for part in (found, *getattr(found, "coordinators", ())):
                    require(getattr(part, "error_code", 0), type(message).__name__)
                return found

            return await insist(type(message).__name__, 30, once)

        await attempt(
            FindCoordinatorRequest(key_type=i8(1), coordinator_keys=(name,)), FindCoordinatorResponse
        )
        init = InitProducerIdRequest(transactional_id=name, transaction_timeout=TEN_SECONDS)
        producer = await attempt(init, InitProducerIdResponse)
        pid, epoch = ProducerId(producer.producer_id), i16(producer.producer_epoch)
        add = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=name,
            v3_and_below_producer_id=pid,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=(AddPartitionsToTxnTopic(name=TopicName("ends"), partitions=(i32(0),)),),
        )
        [added] = (await attempt(add, AddPartitionsToTxnResponse)).results_by_topic_v3_and_below
        require(added.results_by_partition[0].partition_error_code, "adding the partition")
        stamped = lab.batch(
            Codec.NONE, 2, producer_id=pid, producer_epoch=epoch, base_sequence=0, transactional=True
        )
        await lab.produce(kafka, "ends", stamped, transactional_id=name)
        end = EndTxnRequest(transactional_id=name, producer_id=pid, producer_epoch=epoch, committed=commit)
        await attempt(end, EndTxnResponse)
        return pid

    async def steps() -> None:
        await kafka.create_topic("ends", 1)
        pids = []
        for commit in (True, False):
            pids.append(await transaction(commit))
            await insist("waiting for the marker", 30, marked)  # it is written after EndTxn was answered
        rows = await kafka.read_log("ends")
        data = ("NONE-0-...", "NONE-1-...")
        assert [(row.producer_id, row.control, row.key, row.value, row.sequence) for row in rows] == [
            (pids[0], False, "k0", data[0], 0),
            (pids[0], False, "k1", data[1], 1),
            (pids[0], True, "COMMIT", None, -1),
            (pids[1], False, "k0", data[0], 0),
            (pids[1], False, "k1", data[1], 1),
            (pids[1], True, "ABORT", None, -1),
        ]

    loop.run(steps())


def test_each_listener_advertises_the_addresses_of_its_lane(
    loop: asyncio.Runner, lab: Any, kafka: LocalCluster
) -> None:
    assert (kafka.version, kafka.node_ids) == ("4.3.1", (1,))
    assert [(address.broker, address.lane) for address in kafka.addresses] == [(1, 0), (1, 1)]

    async def steps() -> None:
        for address in kafka.addresses:
            with closing(BrokerConnection(address.listener)) as connection:
                answer = await connection.request(metadata_request(None), MetadataResponse)
                assert [(broker.host, broker.port) for broker in answer.brokers] == [address.advertised]

    loop.run(steps())


def test_topics_are_created_as_requested_or_refused_with_a_reason(
    loop: asyncio.Runner, lab: Any, kafka: LocalCluster
) -> None:
    async def steps() -> None:
        await kafka.create_topic("asked", 5, {"segment.ms": "3600000"})
        assert await kafka.admin.partitions("asked") == [0, 1, 2, 3, 4]
        assert await kafka.read_log("asked") == []
        assert await kafka.admin.list_offsets("asked", 4, EARLIEST) == 0
        assert await kafka.admin.list_offsets("asked", 4, LATEST) == 0
        with raises_code(KafkaTrialError, "broker-error", error="TOPIC_ALREADY_EXISTS"):
            await kafka.create_topic("asked", 5)
        with raises_code(KafkaTrialError, "broker-error", error="INVALID_TOPIC_EXCEPTION"):
            await kafka.create_topic("not a name", 1)
        with raises_code(KafkaTrialError, "broker-error", error="INVALID_CONFIG"):
            await kafka.create_topic("misconfigured", 1, {"no.such.setting": "1"})

    loop.run(steps())


def test_topics_are_not_created_automatically(loop: asyncio.Runner, lab: Any, kafka: LocalCluster) -> None:
    for _ in range(2):
        unknown = coded("broker-error", error="UNKNOWN_TOPIC_OR_PARTITION")
        with raises_code(KafkaTrialError, "deadline-passed", why=unknown):
            loop.run(read_log(kafka.admin, "never-created", timeout_s=0.2))


def test_a_broker_reports_its_api_versions(loop: asyncio.Runner, lab: Any, kafka: LocalCluster) -> None:
    versions = loop.run(kafka.admin.api_versions(1))
    assert versions[0][1] >= 12
    assert versions[1][0] <= 12 <= versions[1][1]


def test_a_paused_broker_answers_after_it_is_resumed(
    loop: asyncio.Runner, lab: Any, kafka: LocalCluster
) -> None:
    async def steps() -> None:
        await kafka.pause(1)
        [process] = lab.our_brokers()
        await lab.until(lambda: process.status() == psutil.STATUS_STOPPED)
        with raises_code(KafkaTrialError, "no-broker-up"):
            await kafka.create_topic("while-paused", 1)
        assert kafka.died() is None
        # The kernel still accepts connections for it; the request waits in the socket.
        reader, writer = await asyncio.open_connection(*kafka.addresses[0].listener)
        writer.write(encode_request(metadata_request(None), 1, "t"))
        await writer.drain()
        await kafka.resume(1)
        assert int.from_bytes(await asyncio.wait_for(reader.readexactly(4), 30)) > 0
        writer.close()
        await kafka.create_topic("after-pause", 1)

    loop.run(steps())


@pytest.mark.parametrize("way", ["kill", "stop"])
def test_a_restarted_broker_still_has_its_log(
    loop: asyncio.Runner, lab: Any, kafka: LocalCluster, way: str, log_dir: Path
) -> None:
    async def steps() -> None:
        await kafka.create_topic(f"kept-{way}", 1)
        await lab.produce(
            kafka, f"kept-{way}", lab.batch(Codec.LZ4, 10, producer_id=77, producer_epoch=0, base_sequence=0)
        )
        before = await kafka.read_log(f"kept-{way}")
        assert len(before) == 10
        await getattr(kafka, way)(1)
        assert lab.our_brokers() == []
        assert kafka.died() is None
        await kafka.restart(1)
        assert len(lab.our_brokers()) == 1
        assert await kafka.read_log(f"kept-{way}") == before
        await kafka.create_topic(f"after-{way}", 1)

    loop.run(steps())
    log = (log_dir / "node-1.log").read_text()
    assert ("SIGTERM" in log) or way == "kill"
