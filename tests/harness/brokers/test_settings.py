from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.brokers import settings
from harness.brokers.credentials import Credentials
from harness.brokers.layout import Layout
from harness.brokers.scripted.state import Settings

DATA = Path("/data/node-1")
CREDENTIALS = Credentials("hunter2")


def layout(nodes: int, lanes: int) -> Layout:
    return Layout.deal(range(20_000, 20_000 + Layout.ports_needed(nodes, lanes)), nodes, lanes)


def test_properties_of_one_node_with_two_lanes() -> None:
    one = layout(1, 2)
    told = settings.server_properties(one, one.nodes[0], DATA, CREDENTIALS)
    assert told["process.roles"] == "broker,controller"
    assert told["node.id"] == "1"
    assert told["controller.quorum.voters"] == "1@127.0.0.1:20000"
    assert told["listeners"] == (
        "CONTROLLER://127.0.0.1:20000,INTERNAL://127.0.0.1:20001,"
        "LANE0://127.0.0.1:20004,LANE1://127.0.0.1:20007"
    )
    assert told["advertised.listeners"] == (
        "INTERNAL://127.0.0.1:20001,LANE0://127.0.0.1:20002,LANE1://127.0.0.1:20005"
    )
    assert told["listener.security.protocol.map"] == (
        "CONTROLLER:SASL_PLAINTEXT,INTERNAL:SASL_PLAINTEXT,LANE0:PLAINTEXT,LANE1:PLAINTEXT"
    )
    assert told["log.dirs"] == "/data/node-1"
    assert told["auto.create.topics.enable"] == "false"


def test_brokers_time_groups_as_scripted_ones_do() -> None:
    one = layout(1, 1)
    told = settings.server_properties(one, one.nodes[0], DATA, None)
    scripted = Settings()
    for bound in ("", "min."):
        assert told[f"group.consumer.{bound}session.timeout.ms"] == str(
            scripted.consumer_group_session_timeout_ms
        )
        assert told[f"group.consumer.{bound}heartbeat.interval.ms"] == str(
            scripted.consumer_group_heartbeat_interval_ms
        )


@pytest.mark.parametrize(("nodes", "replicas", "in_sync"), [(1, "1", "1"), (3, "3", "2")])
def test_internal_topics_have_one_replica_per_node(nodes: int, replicas: str, in_sync: str) -> None:
    cluster = layout(nodes, 1)
    for node in cluster.nodes:
        told = settings.server_properties(cluster, node, DATA, CREDENTIALS)
        for topic in ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic"):
            assert told[f"{topic}.replication.factor"] == replicas
        assert told["default.replication.factor"] == replicas
        assert told["min.insync.replicas"] == told["transaction.state.log.min.isr"] == in_sync


@given(st.sampled_from([1, 3]), st.integers(0, 5))
def test_nodes_share_voters_and_have_different_addresses(nodes: int, lanes: int) -> None:
    cluster = layout(nodes, lanes)
    told = [settings.server_properties(cluster, node, DATA, CREDENTIALS) for node in cluster.nodes]
    assert len({each["controller.quorum.voters"] for each in told}) == 1
    assert len({each["listeners"] for each in told}) == nodes
    for each in told:
        bound, advertised = each["listeners"].split(","), each["advertised.listeners"].split(",")
        assert len(bound) == lanes + 2
        assert len(advertised) == lanes + 1  # the controller listener is not advertised
        assert not {at for at in bound if at.startswith("LANE")} & set(advertised)


def test_rendering_is_javas_properties_syntax() -> None:
    assert settings.render({"a": "1", "log.dirs": "C:\\x"}) == "a=1\nlog.dirs=C:\\\\x\n"


@pytest.mark.parametrize(
    ("version", "option", "file"),
    [
        ("4.3.1", "-Dlog4j2.configurationFile=/run/log4j2.properties", "log4j2.properties"),
        ("3.9.2", "-Dlog4j.configuration=file:/run/log4j.properties", "log4j.properties"),
    ],
)
def test_each_version_configures_its_own_logger(version: str, option: str, file: str) -> None:
    found_option, found_file, text = settings.logging(version, Path("/run"))
    assert (found_option, found_file) == (option, file)
    assert "INFO" in text


def test_without_credentials_every_listener_is_open() -> None:
    one = layout(1, 1)
    told = settings.server_properties(one, one.nodes[0], DATA, None)
    assert "SASL" not in str(told)


def test_the_password_is_not_in_the_repr() -> None:
    assert "hunter2" not in repr(CREDENTIALS)
    assert Credentials.drawn() != Credentials.drawn()
