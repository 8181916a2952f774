"""The server's life cycle, and the errors that report its failures."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from faults.kinds.dropped_response import FAULT as DROPPED_RESPONSE
from faults.toxiproxy import TOXIPROXY, Toxiproxy
from faults.toxiproxy_errors import (
    ControlPlaneWedged,
    NotFound,
    PortInUse,
    ProxyExists,
    ServerGone,
    ToxicExists,
)
from harness.model.addresses import LaneAddress
from harness.model.errors import EnvironmentProblem, UsageError
from harness.model.spec import AtTime, FaultSpec
from harness.provision.toxiproxy import toxiproxy_server
from harness.system.port_allocator import port_block
from harness.system.processes import spawn, stop
from testkit.codes import raises_code

pytestmark = pytest.mark.long("real sockets, and faults that take their time")


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(60):
            await main()

    asyncio.run(limited())


def address(listen: int, lead: int = 1) -> LaneAddress:
    return LaneAddress(0, 1, ("127.0.0.1", listen), ("127.0.0.1", lead), ("127.0.0.1", 1))


def server_process() -> psutil.Process:
    (process,) = (p for p in psutil.Process().children() if p.name() == "toxiproxy-server")
    return process


@asynccontextmanager
async def foreign_server(port: int, log: Path) -> AsyncIterator[str]:
    """Start a server outside of the run, and return at once."""
    process = await spawn(
        [toxiproxy_server(), "-host", "127.0.0.1", "-port", str(port)], stdout=log, stderr=log
    )
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{port}"
    finally:
        await stop(process)


def test_server_starts_and_stops_with_the_run(tmp_path: Path) -> None:
    async def main() -> None:
        async with TOXIPROXY.server(tmp_path) as server:
            assert await server.alive()
            process = server_process()
        assert not process.is_running()
        assert (tmp_path / "toxiproxy.log").read_text()

    run(main)


def test_server_is_stopped_after_an_error(tmp_path: Path) -> None:
    processes = []

    async def main() -> None:
        async with TOXIPROXY.server(tmp_path):
            processes.append(server_process())
            raise KeyError("of the run")

    with pytest.raises(KeyError):
        run(main)
    assert not processes[0].is_running()


def test_server_errors_have_names(tmp_path: Path) -> None:
    async def main() -> None:
        with port_block(2) as ports, socket.create_server(("127.0.0.1", ports[1])):
            async with TOXIPROXY.server(tmp_path) as server:
                proxy = await server.create(address(ports[0]))
                with pytest.raises(ProxyExists):
                    await server.create(address(ports[0]))
                with raises_code(PortInUse, "port-taken", listen=f"127.0.0.1:{ports[1]}"):
                    await server.create(address(ports[1]))
                await proxy.add_toxic("t", "timeout", "downstream", 1.0, timeout=0)
                with pytest.raises(ToxicExists):
                    await proxy.add_toxic("t", "timeout", "downstream", 1.0, timeout=0)
                with pytest.raises(NotFound):
                    await proxy.remove_toxic("u")
                with pytest.raises(NotFound):
                    await proxy.update_toxic("u", timeout=1)
                assert await server.alive()

    run(main)


def test_toxics_are_updated_in_place(tmp_path: Path) -> None:
    async def main() -> None:
        with port_block(1) as ports:
            async with TOXIPROXY.server(tmp_path) as server:
                proxy = await server.create(address(ports[0]))
                assert await proxy.pristine()
                await proxy.add_toxic("t", "latency", "upstream", 1.0, latency=5, jitter=0)
                await proxy.update_toxic("t", latency=7)
                await proxy.update_toxic("t", toxicity=0.0)
                assert not await proxy.pristine()
                await proxy.remove_toxic("t")
                assert await proxy.pristine()
                await proxy.disable()
                await proxy.disable()
                assert not await proxy.pristine()
                await proxy.enable()
                assert await proxy.pristine()

    run(main)


def test_stopped_server_is_detected(staged: Any) -> None:
    async def main() -> None:
        async with staged(lanes=1, timeout_s=0.5) as stage:
            process = server_process()
            process.suspend()
            await asyncio.to_thread(
                os.waitid, os.P_PID, process.pid, os.WSTOPPED
            )  # all of its threads have stopped
            with raises_code(ControlPlaneWedged, "toxiproxy-silent") as raised:
                await DROPPED_RESPONSE.inject_live(
                    FaultSpec("dropped_response", AtTime(0), 1), stage.paths[0].lane
                )
            assert isinstance(raised.value, EnvironmentProblem)
            process.resume()
            assert not await stage.server.alive()

    run(main)


def test_deadlocked_api_differs_from_a_dead_server(tmp_path: Path) -> None:
    """A toxic is added while a reader has stopped and all buffers are full, so the server never releases its lock."""

    async def flood(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                writer.write(bytes(2**20))
                await writer.drain()
        except ConnectionError:
            writer.transport.abort()

    async def main() -> None:
        async with await asyncio.start_server(flood, "127.0.0.1", 0) as upstream:
            with port_block(1) as ports:
                async with Toxiproxy(timeout_s=0.5).server(tmp_path) as server:
                    lane = address(ports[0], upstream.sockets[0].getsockname()[1])
                    proxy = await server.create(lane)
                    with socket.create_connection(lane.advertised):
                        with raises_code(ControlPlaneWedged, "control-plane-wedged"):
                            while True:
                                await proxy.add_toxic("t", "latency", "downstream", 1.0, latency=1, jitter=0)
                                await proxy.remove_toxic("t")
                        assert not await server.alive()


def test_dead_server_is_reported_with_its_log(staged: Any) -> None:
    async def main() -> None:
        async with staged(lanes=1) as stage:
            process = server_process()
            os.kill(process.pid, signal.SIGKILL)
            with raises_code(ServerGone, "server-gone", pid=process.pid, returncode=-9):
                await stage.paths[0].proxy.disable()
            assert not await stage.server.alive()

    run(main)


def test_external_server_is_used_and_left_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        with port_block(3) as ports:
            async with foreign_server(ports[0], tmp_path / "foreign.log") as url:
                monkeypatch.setenv("TOXIPROXY_URL", url)
                async with TOXIPROXY.server(tmp_path) as server:
                    await server.create(address(ports[1]))
                    assert await server.alive()
                    socket.create_connection(("127.0.0.1", ports[1])).close()
                with pytest.raises(ConnectionRefusedError):
                    socket.create_connection(("127.0.0.1", ports[1]))
        assert not (tmp_path / "toxiproxy.log").exists()

    run(main)


def test_leftovers_of_a_killed_run_are_removed_from_an_external_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        with port_block(4) as ports, socket.create_server(("127.0.0.1", ports[3])):
            async with foreign_server(ports[0], tmp_path / "foreign.log") as url:
                monkeypatch.setenv("TOXIPROXY_URL", url)
                async with TOXIPROXY.server(tmp_path) as dead, TOXIPROXY.server(tmp_path) as living:
                    await dead.create(address(ports[1], lead=1))
                    await living.create(address(ports[2], lead=ports[3]))
                    async with TOXIPROXY.server(tmp_path):
                        with pytest.raises(ConnectionRefusedError):
                            socket.create_connection(("127.0.0.1", ports[1]))
                        socket.create_connection(("127.0.0.1", ports[2])).close()

    run(main)


@pytest.mark.parametrize(
    "url", ["http://192.0.2.1:8474", "https://127.0.0.1:8474", "127.0.0.1:99999", "http://"]
)
def test_nonlocal_url_is_refused(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOXIPROXY_URL", url)
    with raises_code(UsageError, "toxiproxy-not-local"):
        run(lambda: _enter(tmp_path))


def test_url_without_a_server_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with port_block(1) as ports:
        monkeypatch.setenv("TOXIPROXY_URL", f"http://127.0.0.1:{ports[0]}")
        with raises_code(ServerGone, "server-gone"):
            run(lambda: _enter(tmp_path))


async def _enter(log_dir: Path) -> None:
    async with TOXIPROXY.server(log_dir):
        pass
