"""Interceptors, serializers, their lifecycle, and listeners for the cluster id (PRD-ISP-01 to -05, -08, -09)."""

from __future__ import annotations

import re
from dataclasses import replace
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference import KafkaProducer
from clients.reference.config.plugins import Plugins
from clients.reference.errors import (
    BrokerError,
    ConfigException,
    IllegalStateError,
    PluginError,
    RecordTooLargeError,
    SerializationError,
)
from clients.reference.producer import serializers as to_bytes
from clients.reference.producer.interceptors import Interceptors, ProducerRecord
from clients.reference.producer.producer_batch import RecordMetadata
from harness.model.errors import UsageError
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME
from testkit.codes import raises_code
from tests.clients.reference.transport.diary import Diary

WAIT_S = 20


@given(st.lists(st.sampled_from(["passes", "changes", "raises", "returns nothing"]), max_size=6))
def test_each_interceptor_gets_the_last_good_record(kinds):
    """PRD-ISP-01."""
    seen = []

    class One:
        def __init__(self, number: int, kind: str) -> None:
            self.number, self.kind = number, kind

        def on_send(self, record: ProducerRecord) -> Any:
            seen.append(record.value)
            if self.kind == "raises":
                raise RuntimeError
            if self.kind == "changes":
                return replace(record, value=(*record.value, self.number))
            return record if self.kind == "passes" else None

        def on_acknowledgement(self, metadata: RecordMetadata, error: Any, headers: Any) -> None:
            raise RuntimeError

    chain = Interceptors([One(number, kind) for number, kind in enumerate(kinds)])
    last = chain.on_send(ProducerRecord(topic="t", value=()))
    changes = [number for number, kind in enumerate(kinds) if kind == "changes"]
    assert last.value == tuple(changes)
    assert seen == [tuple(each for each in changes if each < number) for number in range(len(kinds))]
    chain.on_acknowledgement(RecordMetadata("t", 0, 0, 0), None, ())


def test_acknowledgement_reaches_interceptors_before_the_callback(broker, producer):
    """PRD-ISP-01, -02: in order, once, with headers. An exception from one does not affect the others."""
    told: list[Any] = []
    chain = [Diary("a", told, "on_acknowledgement"), Diary("b", told, "on_send"), Diary("c", told)]
    with producer(interceptor_classes=chain, value_serializer=to_bytes.StringSerializer) as p:
        sent = p.send(
            "t",
            "v",
            partition=1,
            headers=[("h", b"1")],
            callback=lambda m, e: told.append(("callback", m, e)),
        )
        place = sent.result(WAIT_S)
    acks = [each for each in told if each[0] in ("on_acknowledgement", "callback")]
    assert acks == [
        *(("on_acknowledgement", name, place, None, [("h", b"1")]) for name in "abc"),
        ("callback", place, None),
    ]
    assert [each[2] for each in told if each[0] == "on_send"] == ["v", "va", "va"]
    assert broker.brokers.values(1) == [b"vac"]


def test_record_that_never_entered_a_batch_is_acknowledged(broker, producer):
    """PRD-ISP-02: metadata is never null, its offset is -1, and its partition is the known one."""
    diary = Diary()
    broker.cluster.settings.denied_topics.add("nope")
    with producer(interceptor_classes=[diary]) as p:
        missing = p.send("nope", b"v")
        big = p.send("t", b"x" * 2_000_000, partition=1, headers=[("h", None)])
        errors = [missing.exception(WAIT_S), big.exception(WAIT_S)]
        with pytest.raises(UsageError):
            p.send("t", 5)
    assert isinstance(errors[1], RecordTooLargeError)
    ends = [each[2:] for each in diary.of("on_acknowledgement")]
    assert sorted((each[0].topic, each[0].partition, each[0].offset) for each in ends) == [
        ("nope", -1, -1),
        ("t", -1, -1),
        ("t", 1, -1),
    ]
    assert {id(each[1]) for each in ends} >= {id(error) for error in errors}
    p.close()
    with pytest.raises(IllegalStateError):
        p.send("t", b"v")
    assert len(diary.of("on_acknowledgement")) == 4


def test_failed_batch_is_acknowledged_with_its_partition(broker, producer):
    """PRD-ISP-02."""
    broker.brokers.fates(then=BY_NAME["INVALID_RECORD"].code)
    diary = Diary()
    with producer(interceptor_classes=[diary], key_serializer=to_bytes.BytesSerializer()) as p:
        error = p.send("t", b"v", b"key").exception(WAIT_S)
    assert isinstance(error, BrokerError)
    ((metadata, told, _),) = [each[2:] for each in diary.of("on_acknowledgement")]
    assert told is error and metadata.partition in (0, 1, 2) and metadata.offset == -1


def available_bytes(producer: KafkaProducer) -> float:
    """Return the free memory of a producer."""
    [value] = [value for name, value in producer.metrics().items() if name.name == "buffer-available-bytes"]
    return value


def test_serialization_error_is_raised_from_send(broker, producer):
    """PRD-ISP-04: the key is serialized first."""
    told: list[Any] = []
    settings = {"key_serializer": Diary("k", told), "value_serializer": to_bytes.IntegerSerializer}
    with producer(**settings) as p:
        free = available_bytes(p)
        with pytest.raises(SerializationError):
            p.send("t", "no number", key=7)
        assert available_bytes(p) == free
        assert ("serialize", "k", 7) in told
    settings["key_serializer"] = Diary("k", told, "serialize")
    with producer(**settings) as p, raises_code(SerializationError, "not-serializable", what="key"):
        p.send("t", "no number", key=7)
    assert [broker.brokers.values(partition) for partition in range(3)] == [[], [], []]


def test_null_and_empty_are_different(broker, producer):
    """PRD-ISP-08."""
    headers = [("h", None), ("h", b""), ("h", None)]
    for settings in ({}, {"value_serializer": to_bytes.BytesSerializer, "interceptor_classes": [Diary()]}):
        with producer(**settings) as p:
            for value in (None, b""):
                p.send("t", value, key=value, partition=0, headers=headers)
    records = [record for batch in broker.brokers.batches() for record in batch.records]
    assert [(record.key, record.value) for record in records] == [(None, None), (b"", b"")] * 2
    assert [list(record.headers) for record in records] == [headers] * 4


def test_timestamps_and_partitions_of_records(producer):
    """PRD-ISP-09."""
    for settings in ({}, {"value_serializer": to_bytes.BytesSerializer}):
        with producer(**settings) as p:
            assert p.send("t", b"v", timestamp_ms=5).result(WAIT_S).timestamp_ms == 5
            assert p.send("t", b"v").result(WAIT_S).timestamp_ms > 1_700_000_000_000
            for bad in ({"timestamp_ms": -1}, {"partition": -1}):
                with pytest.raises(UsageError):
                    p.send("t", b"v", **bad)


def test_plugins_are_configured_first_and_closed_with_the_client(producer):
    """PRD-ISP-03."""
    told: list[Any] = []
    settings = {
        "metric_reporters": [Diary("reporter", told)],
        "partitioner_class": Diary("partitioner", told),
        "key_serializer": Diary("key", told),
        "value_serializer": Diary("value", told),
        "interceptor_classes": [Diary("interceptor", told)],
    }
    names = ["reporter", "partitioner", "key", "value", "interceptor"]
    with producer(**settings) as p:
        assert p.config.client_id.startswith("producer-")
        assert told[:5] == [("configure", name, p.config.client_id) for name in names]
        p.send("t", "v").result(WAIT_S)
    p.close()
    assert [each for each in told if each[0] == "close"] == [("close", name) for name in names]


@pytest.mark.parametrize("fails", ["configure", "init"])
def test_failing_plugin_fails_the_client_and_closes_the_others(fails):
    """PRD-ISP-03."""
    told: list[Any] = []
    settings = {
        "bootstrap.servers": "127.0.0.1:1",
        "metric.reporters": [Diary("first", told), Diary("second", told, fails), Diary("third", told)],
    }
    with raises_code(PluginError, "plugin-failed", why=re.compile(r"second fails")):
        KafkaProducer(settings)
    made = [each[1] for each in told if each[0] == "configure"]
    assert [each[1] for each in told if each[0] == "close"] == made
    assert ("third" in made) is (fails == "init")


class NeedsMore:
    def __init__(self, more: int) -> None:
        raise AssertionError


@pytest.mark.parametrize(
    "given_", ["no.such.module:X", "uuid:Nothing", NeedsMore, "uuid:UUID", object(), "json:dumps"]
)
def test_invalid_serializer_is_refused(given_):
    """PRD-ISP-03."""
    with raises_code(PluginError, "plugin-failed", setting="value.serializer"):
        KafkaProducer({"bootstrap.servers": "127.0.0.1:1", "value.serializer": given_})


JAVA_STRING = "org.apache.kafka.common.serialization.StringSerializer"


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ("value.serializer", "org.apache.kafka.common.serialization.ListSerializer"),
        ("key.serializer", "com.example.Mine"),
        ("partitioner.class", "org.apache.kafka.clients.producer.UniformStickyPartitioner"),
        ("interceptor.classes", "io.opentelemetry.instrumentation.TracingProducerInterceptor"),
        ("metric.reporters", "org.apache.kafka.common.metrics.JmxReporter"),
    ],
)
def test_java_class_without_a_counterpart_is_refused_by_name(setting, name):
    """PRD-ISP-03."""
    with raises_code(PluginError, "java-class-without-counterpart", setting=setting, name=name):
        KafkaProducer({"bootstrap.servers": "127.0.0.1:1", setting: name})


def test_java_classes_stand_for_their_counterparts(broker, producer):
    """PRD-ISP-03, -04: a properties file for Java works unchanged."""
    settings = {
        "key_serializer": "org.apache.kafka.common.serialization.IntegerSerializer",
        "value_serializer": JAVA_STRING,
        "value_serializer_encoding": "UTF-16BE",
        "partitioner_class": "org.apache.kafka.clients.producer.RoundRobinPartitioner",
    }
    with producer(**settings) as p:
        places = [p.send("t", "v", key=7).result(WAIT_S).partition for _ in range(3)]
    assert sorted(places) == [0, 1, 2]
    assert broker.brokers.values(0) == [b"\0v"]


def test_plugins_see_the_whole_configuration_and_their_own_settings():
    """PRD-ISP-03: configure() receives every setting, parsed, and those that only a plug-in knows."""
    seen: dict[str, Any] = {}

    class Configured(Diary):
        def configure(self, settings: Any, is_key: bool | None = None) -> None:
            seen[self.name] = (settings["linger.ms"], settings["audit.topic"], settings.get("none"), is_key)

    settings = {
        "bootstrap.servers": "127.0.0.1:1",
        "linger.ms": "7",
        "audit.topic": "audit",
        "interceptor.classes": [Configured("interceptor")],
        "partitioner.class": Configured("partitioner"),
        "key.serializer": Configured("key"),
        "value.serializer": Configured("value"),
        "metric.reporters": [Configured("reporter")],
    }
    with KafkaProducer(settings):
        pass
    assert {name: each[:3] for name, each in seen.items()} == dict.fromkeys(
        ("interceptor", "partitioner", "key", "value", "reporter"), (7, "audit", None)
    )
    assert [seen[name][3] for name in ("key", "value", "interceptor")] == [True, False, None]


@pytest.mark.parametrize("settings", [{}, {"value.serializer": JAVA_STRING}])
def test_setting_that_no_plugin_reads_is_refused(settings):
    """CLI-CFG-07. This is stricter than Java, which only warns."""
    with raises_code(UsageError, "unknown-name", suggestion="linger.ms"):
        KafkaProducer({"bootstrap.servers": "127.0.0.1:1", "linger_ms": 5, **settings})


@pytest.mark.parametrize(
    "form",
    [
        to_bytes.StringSerializer,
        to_bytes.StringSerializer(),
        "clients.reference.producer.serializers:StringSerializer",
    ],
)
def test_plugins_are_objects_classes_or_names(form):
    made = Plugins({}).make("value.serializer", form, "serialize")
    assert made.serialize("t", "v", ()) == b"v"


def test_failing_close_of_a_plugin_does_not_stop_others():
    """PRD-ISP-03."""
    told: list[Any] = []
    life = Plugins({"client.id": "c"})
    for name, fails in (("a", "close"), ("b", "")):
        life.make("interceptor.classes", Diary(name, told, fails))
    life.close()
    life.close()
    assert [each for each in told if each[0] == "close"] == [("close", "a"), ("close", "b")]


def test_cluster_id_arrives_between_on_send_and_serialize(broker, producer):
    """PRD-ISP-05, for interceptors, serializers and reporters. Later senders may receive it earlier."""
    told: list[Any] = []
    is_sending = Event()

    def script(seen: Any) -> Any:
        if seen.api is not Api.METADATA:
            return None
        assert is_sending.wait(WAIT_S)
        return seen.edit(lambda body: replace(body, cluster_id="c"))

    class Sending(Diary):
        def on_send(self, record: ProducerRecord) -> ProducerRecord:
            sent = super().on_send(record)
            is_sending.set()
            return sent

    broker.brokers.script = script
    settings = {
        "metric_reporters": [Diary("reporter", told)],
        "interceptor_classes": [Sending("interceptor", told)],
        "value_serializer": Diary("value", told),
    }
    with producer(**settings) as p:
        p.send("t", "v").result(WAIT_S)
    order = [each[:2] for each in told if each[0] in ("on_send", "on_update", "serialize")]
    updates = [each for each in told if each[0] == "on_update"]
    assert order[0] == ("on_send", "interceptor")
    assert set(order[1:4]) == {("on_update", name) for name in ("reporter", "interceptor", "value")}
    assert order.index(("serialize", "value")) > max(
        order.index(("on_update", n)) for n in ("value", "reporter")
    )
    assert {each[2] for each in updates} == {"c"}


def test_bootstrap_servers_without_an_address_are_skipped(broker):
    """CLI-CFG-07."""
    good = f"127.0.0.1:{broker.port}"
    with KafkaProducer({"bootstrap.servers": f"no-such-host.invalid:1,{good}"}) as p:
        assert p.send("t", b"v").result(WAIT_S)
    with raises_code(ConfigException, "bootstrap-servers-empty"):
        KafkaProducer({"bootstrap.servers": "no-such-host.invalid:1"})
