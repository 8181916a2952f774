"""Changes by another user of the machine to the harness's Toxiproxy are detected and not blamed on a client."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults.toxiproxy import Server, Toxic, Toxiproxy, unlike
from faults.toxiproxy_log import MOST, Requests
from harness.model.addresses import LaneAddress
from harness.model.errors import EnvironmentProblem
from harness.plugins.fault import LiveLane
from harness.plugins.proxy import Proxy
from harness.running.lane import Lane
from harness.system.port_allocator import port_block
from harness.witness import WitnessLane
from testkit.codes import coded, raises_code

LATENCY = {"latency": 5, "jitter": 0}
NAME = "kafka-trial-lane0-broker1-{}"


class Neighbour:
    """Another user of the machine, who knows the address of the API."""

    def __init__(self, server: Server, proxy: Proxy) -> None:
        port = server.address[1]
        self._url = f"http://127.0.0.1:{port}"
        self._proxy = f"/proxies/{NAME.format(proxy.address.advertised[1])}"

    async def asks(self, method: str, path: str, body: Any = None) -> None:
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(self._url + path, data, method=method)
        await asyncio.to_thread(lambda: urllib.request.urlopen(asked).close())

    async def changes(self, **values: Any) -> None:
        await self.asks("PATCH", self._proxy, values)

    async def adds(self, **toxic: Any) -> None:
        await self.asks("POST", f"{self._proxy}/toxics", toxic)

    async def edits(self, name: str, **values: Any) -> None:
        await self.asks("PATCH", f"{self._proxy}/toxics/{name}", values)

    async def removes(self, name: str) -> None:
        await self.asks("DELETE", f"{self._proxy}/toxics/{name}")


Change = Callable[[Neighbour], Awaitable[None]]


def run_with_neighbour(folder: Path, work: Callable[[Proxy, Server, Neighbour], Awaitable[None]]) -> None:
    """Run ``work`` with a proxy that has one toxic of the harness, and with a neighbour."""

    async def main() -> None:
        with port_block(2) as (listen, lead):
            async with asyncio.timeout(60), Toxiproxy().server(folder) as server:
                assert isinstance(server, Server)
                ends = [("127.0.0.1", port) for port in (listen, lead, 1)]
                proxy = await server.create(LaneAddress(0, 1, *ends))
                await proxy.add_toxic("mine", "latency", "downstream", 1.0, **LATENCY)
                await work(proxy, server, Neighbour(server, proxy))

    asyncio.run(main())


@pytest.mark.long("starts Toxiproxy, and faults take seconds")
@pytest.mark.parametrize(
    ("does", "told"),
    [
        (lambda other: other.changes(enabled=False), "proxy-changed-by-others"),
        (lambda other: other.changes(upstream="127.0.0.1:9"), coded("proxy-changed-by-others", broker=1)),
        (lambda other: other.removes("mine"), "proxy-changed-by-others"),
        (lambda other: other.edits("mine", toxicity=0.5), "proxy-changed-by-others"),
        (lambda other: other.edits("mine", attributes={"latency": 6}), "proxy-changed-by-others"),
        (
            lambda other: other.adds(name="his", type="timeout", stream="upstream", attributes={}),
            "proxy-changed-by-others",
        ),
    ],
)
def test_changes_by_a_neighbour_are_reported(tmp_path: Path, does: Change, told: str) -> None:
    async def work(proxy: Proxy, server: Server, other: Neighbour) -> None:
        lane = LiveLane((proxy,), WitnessLane(0), None, "t")  # type: ignore[arg-type]  # no fault, no cluster
        await lane.assert_as_set()
        await does(other)
        with raises_code(EnvironmentProblem, told):
            await lane.assert_as_set()

    run_with_neighbour(tmp_path, work)


@pytest.mark.long("starts Toxiproxy, and faults take seconds")
def test_requests_of_a_neighbour_are_reported(tmp_path: Path) -> None:
    async def work(proxy: Proxy, server: Server, other: Neighbour) -> None:
        lane = Lane(7, (proxy,), WitnessLane(7), server)
        assert await server.strangers() == []
        await other.asks("GET", "/version")
        with raises_code(EnvironmentProblem, "toxiproxy-used-by-others", lane=7):
            await lane.assert_pristine()
        assert await server.strangers() == []  # the next trial is not blamed for it

    run_with_neighbour(tmp_path, work)


@pytest.mark.long("starts Toxiproxy, and faults take seconds")
def test_requests_without_user_agent_are_reported(tmp_path: Path) -> None:
    async def work(proxy: Proxy, server: Server, other: Neighbour) -> None:
        reader, writer = await asyncio.open_connection(*server.address)
        writer.write(b"GET /version HTTP/1.0\r\n\r\n")
        await reader.read()
        writer.close()
        (told,) = await server.strangers()
        assert told.startswith("GET /version from 127.0.0.1:")

    run_with_neighbour(tmp_path, work)


@pytest.mark.long("starts Toxiproxy, and faults take seconds")
def test_changes_by_the_harness_are_not_reported(tmp_path: Path) -> None:
    async def work(proxy: Proxy, server: Server, other: Neighbour) -> None:
        for change in (
            lambda: proxy.add_toxic("slow", "bandwidth", "upstream", 1.0, rate=10),
            lambda: proxy.update_toxic("mine", latency=7),
            lambda: proxy.update_toxic("mine", 0.0),
            proxy.disable,
            lambda: proxy.add_toxic("cut", "reset_peer", "downstream", 1.0, timeout=0),
            proxy.enable,
            lambda: proxy.remove_toxic("mine"),
            lambda: proxy.remove_toxic("slow"),
            lambda: proxy.remove_toxic("cut"),
        ):
            await change()
            assert await proxy.differs() is None
        assert await proxy.pristine() and await server.strangers() == []

    run_with_neighbour(tmp_path, work)


ADDRESS = LaneAddress(0, 1, ("127.0.0.1", 1), ("127.0.0.1", 2), ("127.0.0.1", 3))
TOXICS = st.dictionaries(
    st.sampled_from("abc"),
    st.builds(
        Toxic,
        st.sampled_from(["latency", "timeout"]),
        st.sampled_from(["upstream", "downstream"]),
        st.sampled_from([0.0, 0.5, 1.0]),
        st.dictionaries(st.sampled_from(["latency", "jitter", "timeout"]), st.integers(0, 2)),
    ),
)


def row(enabled: bool, toxics: dict[str, Toxic], default: int = 0) -> dict[str, Any]:
    """Return the state as the server reports it, with defaults for missing attributes."""
    return {
        "listen": "127.0.0.1:1",
        "upstream": "127.0.0.1:2",
        "enabled": enabled,
        "toxics": [
            {
                "name": name,
                "type": toxic.kind,
                "stream": toxic.stream,
                "toxicity": toxic.toxicity,
                "attributes": {"unsaid": default} | toxic.values,
            }
            for name, toxic in toxics.items()
        ],
    }


@given(st.booleans(), TOXICS, st.booleans(), TOXICS)
def test_states_are_unlike_exactly_if_they_differ(
    enabled: bool, toxics: dict[str, Toxic], other_enabled: bool, other_toxics: dict[str, Toxic]
) -> None:
    def as_set(state: dict[str, Toxic]) -> dict[str, tuple[object, ...]]:
        return {
            name: (t.kind, t.stream, t.toxicity, {k: v for k, v in t.values.items() if v})
            for name, t in state.items()
        }

    same = enabled == other_enabled and as_set(toxics) == as_set(other_toxics)
    assert unlike(ADDRESS, enabled, toxics, row(enabled, toxics)) is None
    assert (unlike(ADDRESS, enabled, toxics, row(other_enabled, other_toxics)) is None) == same
    if toxics:
        assert unlike(ADDRESS, enabled, toxics, row(enabled, toxics, default=1)) is not None


@given(st.lists(st.one_of(st.binary(max_size=40), st.just(b"[]"), st.just(b'{"method":"write"}'))))
def test_log_of_any_bytes_is_read(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]) -> None:
    log = tmp_path_factory.mktemp("log") / "toxiproxy.log"
    log.touch()
    requests = Requests(log, "me")
    mine, his = (json.dumps({"request_id": "x", "user_agent": who}).encode() for who in ("me", "you"))
    log.write_bytes(b"\n".join([*lines, mine, *[his] * 5, b"cut"]))

    assert len(requests.of_others()) == MOST
    assert requests.of_others() == []
