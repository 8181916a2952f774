"""Who came to a listener, by the broker's log; and connections of ours whose port is known before."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from harness.brokers.accepts import Accepts
from harness.dial import dial

LINE = (
    "[2026-11-21 22:11:07,118] DEBUG Accepted connection from /127.0.0.1:{} on /127.0.0.1:{} and assigned it to "
    "processor 0, sendBufferSize [actual|requested]: [102400|102400] (kafka.network.DataPlaneAcceptor)\n"
)


def test_each_connection_is_told_once_at_its_listener(tmp_path: Path) -> None:
    log = tmp_path / "node-1.log"
    accepts = Accepts([log])
    log.write_text(LINE.format(40_001, 20_100) + "INFO something else\n" + LINE.format(40_002, 20_097))
    assert accepts.of(20_100) == [40_001]
    assert accepts.of(20_100) == []
    with log.open("a") as more:
        more.write(LINE.format(40_003, 20_100))
    assert (accepts.of(20_097), accepts.of(20_100)) == ([40_002], [40_003])


def test_a_line_that_is_being_written_is_read_when_it_is_whole(tmp_path: Path) -> None:
    log, line = tmp_path / "node-1.log", LINE.format(40_001, 20_100)
    accepts = Accepts([log])
    log.write_text(line[:70])
    assert accepts.of(20_100) == []
    with log.open("a") as rest:
        rest.write(line[70:])
    assert accepts.of(20_100) == [40_001]


def test_who_came_to_the_cluster_of_a_run_that_is_gone_on_with_is_nobody_here(tmp_path: Path) -> None:
    log = tmp_path / "node-1.log"
    log.write_text(LINE.format(40_001, 20_100))
    accepts = Accepts([log])
    with log.open("a") as more:
        more.write(LINE.format(40_002, 20_100))
    assert accepts.of(20_100) == [40_002]


def test_the_port_is_told_before_anybody_can_accept() -> None:
    async def steps() -> None:
        told: list[int] = []
        with socket.create_server(("127.0.0.1", 0)) as server:
            connection = await dial(server.getsockname(), told.append)
            accepted, peer = server.accept()
            assert told == [connection.getsockname()[1]] == [peer[1]]
            connection.close()
            accepted.close()
            nowhere = server.getsockname()
        with pytest.raises(ConnectionRefusedError):
            await dial(nowhere, told.append)
        assert len(told) == 2

    asyncio.run(steps())
