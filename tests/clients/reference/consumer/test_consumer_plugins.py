"""A consumer's plug-ins: how settings name them, what they are told, and when they are closed."""

from __future__ import annotations

from typing import Any

import pytest

from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.assignors import ASSIGNORS, JAVA_ASSIGNORS
from clients.reference.consumer.assignors.range_assignor import RangeAssignor
from clients.reference.consumer.consumer_plugins import ConsumerPlugins
from clients.reference.consumer.deserializers import JAVA_DESERIALIZERS
from clients.reference.errors import ConfigException, PluginError
from harness.model.errors import UsageError
from testkit.codes import raises_code

STRATEGY = "partition.assignment.strategy"


def plugins(**given: Any) -> ConsumerPlugins:
    settings = {"bootstrap.servers": "b:9092", "group.id": "g"}
    return ConsumerPlugins(
        ConsumerConfig.from_mapping(settings | {name.replace("_", "."): each for name, each in given.items()})
    )


class Plugin:
    """Any kind of plug-in, which notes what it is told."""

    name = "own"

    def __init__(self) -> None:
        self.told: list[Any] = []

    def configure(self, settings: Any, **more: Any) -> None:
        self.told.append(("configure", settings["own.setting"], settings["client.id"], more))

    def init(self, names: Any, read: Any) -> None:
        self.told.append("init")

    def on_consume(self, records: Any) -> Any:
        return records

    def on_commit(self, offsets: Any) -> None:
        self.told.append(offsets)

    def on_update(self, cluster_id: str | None) -> None:
        self.told.append(("cluster", cluster_id))

    def deserialize(self, topic: str, data: bytes, headers: Any) -> Any:
        return data

    def close(self) -> None:
        self.told.append("close")


class OwnAssignor(RangeAssignor):
    name = "own"


@pytest.mark.parametrize(
    "given",
    [OwnAssignor(), OwnAssignor, f"{__name__}:OwnAssignor"],
    ids=["object", "class", "module and class"],
)
def test_an_assignor_is_an_object_a_class_or_the_place_of_a_class(given):
    [assignor] = plugins(partition_assignment_strategy=[given]).assignors
    assert assignor.name == "own"


@pytest.mark.parametrize("name", JAVA_ASSIGNORS)
def test_java_names_of_assignors_have_counterparts(name):
    [assignor] = plugins(partition_assignment_strategy=name).assignors
    assert type(assignor) is JAVA_ASSIGNORS[name] and assignor.name in ASSIGNORS


def test_assignors_keep_their_order_and_are_the_consumers_own():
    first, second = (plugins(partition_assignment_strategy="cooperative-sticky, range") for _ in range(2))
    assert [each.name for each in first.assignors] == ["cooperative-sticky", "range"]
    assert not set(map(id, first.assignors)) & set(map(id, second.assignors))


def test_two_assignors_with_one_name_are_refused():
    with raises_code(ConfigException, "assignor-twice", name="range"):
        plugins(partition_assignment_strategy=["range", RangeAssignor])


def test_an_unknown_assignor_is_refused():
    with raises_code(PluginError, "java-class-without-counterpart", name="fair"):
        plugins(partition_assignment_strategy="fair")


def test_an_object_that_does_not_assign_is_refused():
    with raises_code(PluginError, "plugin-failed", setting=STRATEGY):
        plugins(partition_assignment_strategy=[object()])


@pytest.mark.parametrize("name", JAVA_DESERIALIZERS)
def test_java_names_of_deserializers_have_counterparts(name):
    made = plugins(key_deserializer=name, value_deserializer=JAVA_DESERIALIZERS[name])
    assert type(made.deserializers._key) is type(made.deserializers._value) is JAVA_DESERIALIZERS[name]


def test_plugins_are_configured_with_all_settings_and_their_own():
    reporter, interceptor, key, value = (Plugin() for _ in range(4))
    made = plugins(
        own_setting="x",
        client_id="c",
        metric_reporters=[reporter],
        interceptor_classes=[interceptor],
        key_deserializer=key,
        value_deserializer=value,
    )
    made.cluster_updated("id")
    made.close()
    for each, more in (
        (reporter, {}),
        (interceptor, {}),
        (key, {"is_key": True}),
        (value, {"is_key": False}),
    ):
        assert each.told == [("configure", "x", "c", more), ("cluster", "id"), "close"]


def test_a_setting_that_nothing_reads_is_refused_and_the_plugins_are_closed():
    plugin = Plugin()
    with pytest.raises(UsageError):
        plugins(own_setting="x", own_other="y", interceptor_classes=[plugin])
    assert plugin.told[-1] == "close"


def test_an_encoding_is_the_deserializers_own_setting():
    name = "org.apache.kafka.common.serialization.StringDeserializer"
    made = plugins(value_deserializer=name, value_deserializer_encoding="latin1")
    assert made.deserializers._value.deserialize("t", b"\xe9", ()) == "\u00e9"
    with raises_code(PluginError, "plugin-failed", setting="value.deserializer"):
        plugins(value_deserializer=name, value_deserializer_encoding="no-such")


def test_if_one_cannot_be_created_those_before_it_are_closed():
    plugin = Plugin()
    with raises_code(PluginError, "plugin-failed", setting="value.deserializer"):
        plugins(own_setting="x", key_deserializer=plugin, value_deserializer=object())
    assert plugin.told[-1] == "close"
