"""Plug-ins of the application: the order in which they are called, and that their faults have no wider effect."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from clients.reference import KafkaProducer
from clients.reference.errors import PluginError, SendError, SerializationError
from clients.reference.producer.interceptors import Acknowledgement, ProducerRecord
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import RecordMetadata, nowhere
from clients.reference.producer.producer_plugins import ProducerPlugins
from suites.properties.property import client_property, example

ADDRESS = {"bootstrap.servers": "localhost:9092", "client.id": "mine"}
#: No broker listens there, so a send fails after max.block.ms.
NOWHERE = {"bootstrap.servers": "127.0.0.1:9", "client.id": "mine", "max.block.ms": 1}
MANNERS = st.lists(st.sampled_from(["good", "raises", "returns nothing"]), max_size=5)


class Plugin:
    """Every kind of plug-in in one. ``manner`` is how it behaves, ``diary`` records the calls in order."""

    def __init__(self, name: str, diary: list[tuple[str, Any]], manner: str = "good") -> None:
        self._name, self._diary, self._manner = name, diary, manner

    def configure(self, settings: Any, **more: Any) -> None:
        self._diary.append((self._name, ("configure", settings["client.id"])))
        if self._manner == "cannot be configured":
            raise ValueError("no")

    def on_send(self, record: ProducerRecord) -> Any:
        self._diary.append((self._name, "on_send"))
        if self._manner == "raises":
            raise ValueError("no")
        return replace(record, value=[*record.value, self._name]) if self._manner == "good" else None

    def on_acknowledgement(self, metadata: Any, error: Any, headers: Any) -> None:
        self._diary.append((self._name, (metadata, error)))
        if self._manner == "raises":
            raise ValueError("no")

    def on_update(self, cluster_id: str | None) -> None:
        self._diary.append((self._name, ("on_update", cluster_id)))
        if self._manner == "raises":
            raise ValueError("no")

    def serialize(self, topic: str, value: Any, headers: Any) -> bytes | None:
        self._diary.append((self._name, ("serialize", value)))
        if self._manner == "raises":
            raise TypeError("not mine")
        return value if value is None else str(value).encode()

    def close(self) -> None:
        self._diary.append((self._name, "close"))


@contextmanager
def _quiet() -> Iterator[None]:
    """Disable the log for faults of plug-ins, which occur by the thousand here."""
    logger = logging.getLogger("kafka-trial.reference")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def _producer(components: Components, settings: dict[str, Any]) -> KafkaProducer:
    kind: type[KafkaProducer] = getattr(components, "producer", KafkaProducer)
    return kind(NOWHERE | settings, components=components)


def _plugins(components: Components, **settings: Any) -> ProducerPlugins:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return components.plugins(components.config.from_mapping(ADDRESS | named))


def _chain(components: Components, manners: list[str]) -> tuple[ProducerPlugins, list[tuple[str, Any]]]:
    diary: list[tuple[str, Any]] = []
    chain = [Plugin(f"i{index}", diary, manner) for index, manner in enumerate(manners)]
    return _plugins(components, interceptor_classes=chain), diary


@client_property("PRD-ISP-01", manners=MANNERS)
@example(manners=["good", "raises", "returns nothing", "good"])
def interceptors_pass_the_last_good_record_on(components: Components, manners: list[str]) -> None:
    """Interceptors run in the configured order. One that fails is skipped, and the record stays as it was."""
    with _quiet():
        plugins, diary = _chain(components, manners)
        record = plugins.interceptors.on_send(ProducerRecord(topic="t", value=[]))
    assert [name for name, what in diary if what == "on_send"] == [f"i{i}" for i in range(len(manners))]
    assert record.value == [f"i{i}" for i, manner in enumerate(manners) if manner == "good"]


@client_property("PRD-ISP-02", manners=MANNERS, fails=st.booleans(), partition=st.none() | st.integers(0, 9))
@example(manners=["raises", "good"], fails=True, partition=3)
@example(manners=["good"], fails=False, partition=None)
def interceptors_hear_of_each_end_first(
    components: Components, manners: list[str], fails: bool, partition: int | None
) -> None:
    """Each interceptor is notified of a record's end once, with a place, before the application's callback."""
    with _quiet():
        plugins, diary = _chain(components, manners)
        diary.clear()
        record = ProducerRecord(topic="t", value=b"", partition=partition)
        end = Acknowledgement(plugins.interceptors, record, lambda *told: diary.append(("application", told)))
        lost = SendError("record-lost", "lost")
        end(nowhere("t", partition), lost) if fails else end(RecordMetadata("t", 3, 17, 5), None)
    assert [name for name, _ in diary] == [*(f"i{i}" for i in range(len(manners))), "application"]
    for _, (metadata, error) in diary[:-1]:
        assert metadata.topic == "t" and (error is not None) == fails
        expected = (-1, -1 if partition is None else partition) if fails else (17, 3)
        assert (metadata.offset, metadata.partition) == expected


@client_property(
    "PRD-ISP-03",
    good=st.integers(0, 3),
    serializer=st.booleans(),
    bad=st.sampled_from([None, "cannot be configured", "no class"]),
)
@example(good=2, serializer=True, bad="cannot be configured")
@example(good=2, serializer=True, bad="no class")
@example(good=2, serializer=True, bad=None)
def plug_ins_are_configured_first_and_closed_once(
    components: Components, good: int, serializer: bool, bad: str | None
) -> None:
    """Plug-ins are configured first and closed once, with the producer or when a later plug-in cannot be created."""
    diary: list[tuple[str, Any]] = []
    chain: list[Any] = [Plugin(f"i{index}", diary) for index in range(good)]
    chain += [] if bad is None else ["no.such:Class"] if bad == "no class" else [Plugin("bad", diary, bad)]
    settings: dict[str, Any] = {"interceptor.classes": chain}
    settings |= {"value.serializer": Plugin("value", diary)} if serializer else {}
    names = [*(["value"] if serializer else []), *(f"i{index}" for index in range(good))]
    with _quiet():
        try:
            producer = _producer(components, settings)
        except PluginError:
            assert bad is not None
        else:
            assert bad is None
            assert not [name for name, what in diary if what == "close"], "closed before the producer"
            producer.close()
            producer.close()
    for name in names:
        told = [what for each, what in diary if each == name]
        assert told[0] == ("configure", "mine") and told[-1] == "close", f"{name}: {told}"
        assert told.count("close") == 1, f"{name}: {told}"


class Plain:
    """A serializer, and nothing else."""

    def __init__(self, plugin: Plugin) -> None:
        self.configure, self.serialize, self.close = plugin.configure, plugin.serialize, plugin.close


@client_property(
    "PRD-ISP-04",
    key_manner=st.sampled_from(["good", "raises"]),
    value_manner=st.sampled_from(["good", "raises"]),
    key=st.none() | st.integers(),
    value=st.none() | st.integers(),
)
@example(key_manner="raises", value_manner="raises", key=1, value=2)
@example(key_manner="good", value_manner="raises", key=1, value=2)
@example(key_manner="good", value_manner="good", key=1, value=None)
def the_key_is_serialized_first(
    components: Components, key_manner: str, value_manner: str, key: int | None, value: int | None
) -> None:
    """The key is serialized, then the value. If either fails, send() raises and no memory is taken."""
    diary: list[tuple[str, Any]] = []
    producer = _producer(
        components,
        {
            "key.serializer": Plain(Plugin("key", diary, key_manner)),
            "value.serializer": Plain(Plugin("value", diary, value_manner)),
        },
    )
    diary.clear()
    try:
        producer.send("t", value, key)
    except SerializationError:
        assert "raises" in (key_manner, value_manner)
        pool = producer._core.pool
        assert pool.available_bytes == pool.total_bytes, "an invalid record takes memory"
        assert pool.waiting == 0
    else:
        assert (key_manner, value_manner) == ("good", "good"), (
            "send() accepts a record that cannot be serialized"
        )
    finally:
        producer.close(0)
    called = [("key", ("serialize", key)), ("value", ("serialize", value))]
    told = [each for each in diary if each[1] != "close"]
    assert told == (called[:1] if key_manner == "raises" else called)
    record = ProducerRecord(topic="t", value=value, key=key)
    plain = _plugins(
        components, key_serializer=Plugin("key", diary), value_serializer=Plugin("value", diary)
    ).serialize(record)
    assert plain == tuple(each if each is None else str(each).encode() for each in (key, value))


@client_property("PRD-ISP-05", manners=MANNERS, cluster_id=st.none() | st.text(max_size=5))
@example(manners=["raises", "good"], cluster_id="c")
def whoever_asks_hears_the_cluster_id(
    components: Components, manners: list[str], cluster_id: str | None
) -> None:
    """Interceptors and serializers that ask for the cluster's id get it, whatever the previous one does."""
    with _quiet():
        diary: list[tuple[str, Any]] = []
        chain = [Plugin(f"i{index}", diary, manner) for index, manner in enumerate(manners)]
        plugins = _plugins(components, interceptor_classes=chain, value_serializer=Plugin("value", diary))
        diary.clear()
        plugins.cluster_updated(cluster_id)
    assert all(what == ("on_update", cluster_id) for _, what in diary)
    assert sorted(name for name, _ in diary) == sorted(["value", *(f"i{i}" for i in range(len(manners)))])
