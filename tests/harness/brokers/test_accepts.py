"""Connections to a listener according to the broker's log, and our own connections by their ports."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from harness.brokers.accepts import Accepts
from harness.brokers.local import LOCAL
from harness.system.dial import dial

LINE = (
    "[2026-11-21 22:11:07,118] DEBUG [data-plane-kafka-network-thread-1-{}-PLAINTEXT-0] Processor 0 "
    "listening to new connection from /127.0.0.1:{} (kafka.network.Processor)\n"
)


def test_each_connection_is_reported_once_at_its_listener(tmp_path: Path) -> None:
    log = tmp_path / "node-1.log"
    accepts = Accepts({1: log})
    log.write_text(LINE.format("LANE0", 40_001) + "INFO something else\n" + LINE.format("LANE10", 40_002))
    assert accepts.of("LANE0") == [(1, 40_001)]
    assert accepts.of("LANE0") == []
    with log.open("a") as more:
        more.write(LINE.format("LANE0", 40_003))
    assert (accepts.of("LANE10"), accepts.of("LANE1"), accepts.of("LANE0")) == (
        [(1, 40_002)],
        [],
        [(1, 40_003)],
    )


def test_the_log_format_of_an_older_broker_is_read(tmp_path: Path) -> None:
    log = tmp_path / "node-1.log"
    accepts = Accepts({1: log})
    log.write_text(LINE.format("ListenerName(LANE0)", 40_001))
    assert accepts.of("LANE0") == [(1, 40_001)]


def test_an_incomplete_line_is_read_once_it_is_complete(tmp_path: Path) -> None:
    log, line = tmp_path / "node-1.log", LINE.format("LANE0", 40_001)
    accepts = Accepts({1: log})
    log.write_text(line[:70])
    assert accepts.of("LANE0") == []
    with log.open("a") as rest:
        rest.write(line[70:])
    assert accepts.of("LANE0") == [(1, 40_001)]


def test_connections_of_an_earlier_run_are_ignored(tmp_path: Path) -> None:
    log = tmp_path / "node-1.log"
    log.write_text(LINE.format("LANE0", 40_001))
    accepts = Accepts({1: log})
    with log.open("a") as more:
        more.write(LINE.format("LANE0", 40_002))
    assert accepts.of("LANE0") == [(1, 40_002)]


@pytest.mark.jvm
@pytest.mark.parametrize("version", ["3.9.2", "4.3.1"])
def test_a_connection_that_closes_at_once_is_reported(lab: Any, version: str, tmp_path: Path) -> None:
    ports = Counter[int]()
    came: list[tuple[int, int]] = []

    async def steps() -> None:
        async with LOCAL.cluster(version, lanes=2, log_dir=tmp_path) as cluster:
            assert cluster.came_to(1) == []
            [listener] = [address.listener for address in cluster.addresses if address.lane == 1]
            for _ in range(100):
                (await dial(listener, ports)).close()
            await lab.until(lambda: came.extend(cluster.came_to(1)) or len(came) >= ports.total())
            assert cluster.came_to(0) == []

    asyncio.run(steps())
    assert sorted(came) == sorted((1, port) for port in ports.elements())


def test_a_port_is_counted_only_for_an_established_connection() -> None:
    async def steps() -> None:
        dialled = Counter[int]()
        with socket.create_server(("127.0.0.1", 0)) as server:
            connection = await dial(server.getsockname(), dialled)
            accepted, peer = server.accept()
            assert dialled == {connection.getsockname()[1]: 1} == {peer[1]: 1}
            connection.close()
            accepted.close()
            nowhere = server.getsockname()
        with pytest.raises(ConnectionRefusedError):
            await dial(nowhere, dialled)
        assert dialled.total() == 1

    asyncio.run(steps())
