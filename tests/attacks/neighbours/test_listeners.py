"""The internal listeners of a cluster refuse connections without the password of the harness."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from kio.schema.describe_quorum.v0 import DescribeQuorumRequest, DescribeQuorumResponse

from harness.brokers.connection import BrokerConnection, NotYet
from harness.brokers.credentials import Credentials
from harness.brokers.local import LOCAL, LocalCluster
from harness.model.addresses import Address
from harness.model.errors import KafkaTrialError
from testkit.codes import raises_code

pytestmark = pytest.mark.jvm

#: Both brokers and controllers know this request.
ASKED = DescribeQuorumRequest(topics=())


@pytest.fixture(scope="module", params=["4.3.1", "3.9.2"])
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[asyncio.Runner, LocalCluster]]:
    with asyncio.Runner() as loop:
        started = LOCAL.cluster(request.param, 1, tmp_path_factory.mktemp("logs"))
        yield loop, loop.run(started.__aenter__())
        loop.run(started.__aexit__(None, None, None))


def own_listeners(cluster: LocalCluster) -> dict[str, Address]:
    [node] = cluster.layout.nodes
    return {"INTERNAL": node.internal, "CONTROLLER": node.controller}


@pytest.mark.parametrize("listener", ["INTERNAL", "CONTROLLER"])
def test_connection_without_password_is_closed(cluster, listener):
    loop, kafka = cluster

    async def asks() -> None:
        with closing(BrokerConnection(own_listeners(kafka)[listener])) as connection:
            await connection.request(ASKED, DescribeQuorumResponse)

    with raises_code(NotYet, "connection-closed"):
        loop.run(asks())


@pytest.mark.parametrize("listener", ["INTERNAL", "CONTROLLER"])
def test_connection_with_wrong_password_is_refused(cluster, listener):
    loop, kafka = cluster

    async def asks() -> None:
        with closing(
            BrokerConnection(own_listeners(kafka)[listener], credentials=Credentials.drawn())
        ) as connection:
            await connection.request(ASKED, DescribeQuorumResponse)

    with raises_code(KafkaTrialError, "broker-error", error="SASL_AUTHENTICATION_FAILED"):
        loop.run(asks())


def test_harness_is_accepted(cluster):
    loop, kafka = cluster

    loop.run(kafka.create_topic("mine", 1))

    assert loop.run(kafka.read_log("mine")) == []


def test_password_is_in_a_private_folder(cluster):
    _, kafka = cluster
    place: Path = kafka.properties_file(1)

    assert kafka.credentials.password in place.read_text()
    assert any(folder.stat().st_mode & 0o077 == 0 for folder in place.parents)
