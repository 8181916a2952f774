"""Our record batches and Kafka's Java client read each other, through a real broker, with every codec.

Python drives the Java client through Py4J, which PySpark includes, so that no Java has to be compiled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyspark
import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from harness.brokers.local import LOCAL, LocalCluster
from harness.provision.java import find_java
from harness.provision.kafka import kafka_jars
from harness.wire.records import BatchBuilder, Codec, Record, read_batches

pytestmark = pytest.mark.jvm

VERSIONS = ("4.3.1", "3.9.2")
BASE_MS = 1_700_000_000_000
NOISE = b"".join(sha256(bytes([n])).digest() for n in range(256))

#: Key, value, headers: null and empty, text and noise, smaller and larger than a compressor's block.
CONTENTS: list[tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]] = [
    (None, None, ()),
    (b"", b"", (("", b""),)),
    (b"key", None, (("null", None), ("empty", b""), ("same", b"1"), ("same", b"2"))),
    ("schlüssel".encode(), "значение".encode(), (("имя", "値".encode()),)),
    (None, NOISE * 20, ()),
    (NOISE, b"." * 200_000, (("noise", NOISE),)),
    *((f"k{n}".encode(), f"value {n} ".encode() * (n % 7), ()) for n in range(300)),
]
#: The timestamps are not in order, because a producer's clock can be set back.
RECORDS = [
    Record(n, BASE_MS + (n * 7919) % 1000 - 500, key, value, headers)
    for n, (key, value, headers) in enumerate(CONTENTS)
]


class Java:
    """Kafka's Java client of one version, in a JVM of its own."""

    def __init__(self, gateway: JavaGateway, bootstrap: str) -> None:
        self.kafka = gateway.jvm.org.apache.kafka
        self.util = gateway.jvm.java.util
        self.nio = gateway.jvm.java.nio
        self.time = gateway.jvm.java.time
        self._bootstrap = bootstrap

    def write(self, topic: str, codec: Codec, records: list[Record]) -> None:
        """Send with KafkaProducer (idempotent by default), and wait for every acknowledgement."""
        serializer = self.kafka.common.serialization.ByteArraySerializer()
        settings = {
            "bootstrap.servers": self._bootstrap,
            "compression.type": codec.name.lower(),
            "linger.ms": "50",
        }
        producer = self.kafka.clients.producer.KafkaProducer(self._map(settings), serializer, serializer)
        try:
            sent = [producer.send(self._record(topic, record)) for record in records]
            assert [future.get().offset() for future in sent] == [record.offset for record in records]
        finally:
            producer.close()

    def _record(self, topic: str, record: Record) -> Any:
        headers = self.util.ArrayList()
        for name, value in record.headers:
            headers.add(self.kafka.common.header.internals.RecordHeader(name, value))
        make = self.kafka.clients.producer.ProducerRecord
        return make(topic, 0, record.timestamp_ms, record.key, record.value, headers)

    def read(self, topic: str, count: int) -> list[Record]:
        """Return the first ``count`` records of a KafkaConsumer, which checks every CRC."""
        deserializer = self.kafka.common.serialization.ByteArrayDeserializer()
        settings = {
            "bootstrap.servers": self._bootstrap,
            "auto.offset.reset": "earliest",
            "check.crcs": "true",
        }
        consumer = self.kafka.clients.consumer.KafkaConsumer(self._map(settings), deserializer, deserializer)
        try:
            partitions = self.util.ArrayList()
            partition = self.kafka.common.TopicPartition(topic, 0)
            partitions.add(partition)
            consumer.assign(partitions)
            found: list[Record] = []
            while len(found) < count:
                polled = consumer.poll(self.time.Duration.ofSeconds(30))
                assert not polled.isEmpty(), f"nothing came after {len(found)} records"
                found += [_from_java(record) for record in polled.records(partition)]
            return found
        finally:
            consumer.close()

    def _map(self, settings: dict[str, str]) -> Any:
        made = self.util.HashMap()
        for name, value in settings.items():
            made.put(name, value)
        return made


def _from_java(record: Any) -> Record:
    headers = tuple((header.key(), header.value()) for header in record.headers().toArray())
    return Record(record.offset(), record.timestamp(), record.key(), record.value(), headers)


@contextmanager
def java(version: str, bootstrap: str) -> Iterator[Java]:
    [py4j] = (Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar")
    port, token, process = launch_gateway(
        jarpath=str(py4j),
        classpath=kafka_jars(version).classpath,
        java_path=str(find_java().path),
        javaopts=["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"],
        die_on_exit=True,
        enable_auth=True,
        return_proc=True,
    )
    gateway = JavaGateway(
        gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=False)
    )
    try:
        yield Java(gateway, bootstrap)
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.wait()


@pytest.fixture(scope="module", params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def kafka(
    loop: asyncio.Runner, version: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalCluster]:
    context = LOCAL.cluster(version, lanes=0, log_dir=tmp_path_factory.mktemp("logs"), is_guarded=False)
    cluster = loop.run(context.__aenter__())
    try:
        yield cluster
    finally:
        loop.run(context.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def client(kafka: LocalCluster, version: str) -> Iterator[Java]:
    host, port = kafka.internal_addresses[1]
    with java(version, f"{host}:{port}") as client:
        yield client


def ours(codec: Codec, **producer: int) -> bytes:
    builder = BatchBuilder(codec)
    for record in RECORDS:
        builder.append(record.timestamp_ms, record.key, record.value, record.headers)
    return builder.build(**producer)  # type: ignore[arg-type]


@pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name)
def test_kafkas_client_reads_our_batches(
    loop: asyncio.Runner, lab: Any, kafka: LocalCluster, client: Java, codec: Codec
) -> None:
    topic = f"ours-{codec.name.lower()}"
    batch = ours(codec, producer_id=5, producer_epoch=1, base_sequence=0)
    loop.run(kafka.create_topic(topic, 1))
    assert loop.run(lab.produce(kafka, topic, batch)) == 0
    assert client.read(topic, len(RECORDS)) == RECORDS


@pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name)
def test_our_reader_reads_the_batches_of_kafkas_client(
    loop: asyncio.Runner, kafka: LocalCluster, client: Java, codec: Codec
) -> None:
    topic = f"theirs-{codec.name.lower()}"
    loop.run(kafka.create_topic(topic, 1))
    client.write(topic, codec, RECORDS)
    found: list[Record] = []
    while len(found) < len(RECORDS):
        data = loop.run(kafka.admin.fetch(topic, 0, len(found)))
        batches = list(read_batches(data.records or b""))
        assert batches, f"nothing came after {len(found)} records"
        assert all(batch.crc_ok and batch.header.codec is codec for batch in batches)
        assert [batch.header.base_sequence for batch in batches] == [b.header.base_offset for b in batches]
        found += [record for batch in batches for record in batch.records]
    assert found == RECORDS
    rows = loop.run(kafka.read_log(topic))
    assert [(row.offset, row.sequence) for row in rows] == [(n, n) for n in range(len(RECORDS))]


@pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name)
def test_kafkas_reader_agrees_on_every_header_field(client: Java, version: str, codec: Codec) -> None:
    record = client.kafka.common.record
    memory_records = (record if version.startswith("3.") else record.internal).MemoryRecords
    batch = ours(
        codec,
        producer_id=2**62,
        producer_epoch=2**15 - 1,
        base_sequence=2**31 - 3,
        base_offset=2**40,
        partition_leader_epoch=17,
        transactional=True,
    )
    header = next(read_batches(batch)).header
    theirs = memory_records.readableRecords(client.nio.ByteBuffer.wrap(batch)).batchIterator().next()
    theirs.ensureValid()
    assert (theirs.producerId(), theirs.producerEpoch()) == (header.producer_id, header.producer_epoch)
    assert (theirs.baseSequence(), theirs.lastSequence()) == (header.base_sequence, header.last_sequence)
    assert (theirs.baseOffset(), theirs.lastOffset()) == (header.base_offset, header.last_offset)
    assert (theirs.checksum(), theirs.sizeInBytes()) == (header.crc, header.size_bytes)
    assert (theirs.maxTimestamp(), theirs.countOrNull()) == (header.max_timestamp_ms, header.record_count)
    assert (theirs.isTransactional(), theirs.isControlBatch()) == (True, False)
    assert (theirs.magic(), theirs.partitionLeaderEpoch()) == (header.magic, 17)
    assert theirs.compressionType().toString().lower() == codec.name.lower()
    assert header.last_sequence == (2**31 - 3 + len(RECORDS) - 1) % 2**31
