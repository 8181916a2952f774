"""Control of Toxiproxy: one server per run, and one proxy for every broker of every lane.

The server is started for the run and ended with it, unless ``TOXIPROXY_URL`` names an existing one. In that case our
proxies are removed at the end, and those left over from a killed run at the beginning. Calls to the control API block,
so they run in threads. Every answer other than success is an error of the environment (:mod:`faults.toxiproxy_errors`).

Three rules keep the control API of 2.12 alive. A toxic that holds bytes is made harmless before it is removed. Toxics
are removed in the reverse order of their addition: those after a toxic to be removed are taken off first and put on
again afterwards. A server that has once failed to answer is not trusted again (``alive`` stays false).
"""

from __future__ import annotations

import asyncio
import functools
import os
import re
import socket
import urllib.parse
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import STDOUT
from typing import Any, TypeVar

from faults.toxics import HARMLESS, HOLDING, checked
from faults.toxiproxy_api import READ_TIMEOUT_S, ControlledProxy, ControlledServer, Endpoint
from faults.toxiproxy_errors import ControlPlaneWedged, NotFound, PortInUse, ServerGone, ToxiproxyError
from faults.toxiproxy_log import Requests
from harness.files import make_folder, tail
from harness.model.addresses import Address, LaneAddress
from harness.model.errors import EnvironmentProblem, UsageError
from harness.plugins.proxy import Proxy, ProxyKind, ProxyServer
from harness.provision.toxiproxy import toxiproxy_server
from harness.system.port_allocator import port_block
from harness.system.processes import Child, spawn, stop

T = TypeVar("T")

URL = "TOXIPROXY_URL"
VERSION = re.compile(r"2\.12\.\d+")
HOSTS = ("127.0.0.1", "localhost", "::1")
PREFIX = "kafka-trial-"
START_TIMEOUT_S = 10.0
POLL_S = 0.02
#: A socket starts to refuse a little earlier than the process table shows the end of the process.
EXIT_TIMEOUT_S = 1.0
#: How much of the end of the log to read for an error message.
TAIL_BYTES = 4_096
#: Bytes that a change of toxics releases leave within this time, or their connection ends because the peer has left.
#: Another change meanwhile would wait for them inside the server, with the proxy locked, possibly without a limit.
DRAIN_S = 0.05


class Toxiproxy:
    """The proxy kind ``toxiproxy``."""

    name = "toxiproxy"

    def __init__(self, timeout_s: float = READ_TIMEOUT_S) -> None:
        self._timeout_s = timeout_s

    def server(self, log_dir: Path) -> AbstractAsyncContextManager[ProxyServer]:
        """Return a server for one run; its log is ``toxiproxy.log`` in ``log_dir``.

        Raises EnvironmentProblem if it does not start, UsageError for a ``TOXIPROXY_URL`` that is not local.
        """
        url = os.environ.get(URL)
        return _borrowed(url, self._timeout_s) if url else _started(log_dir, self._timeout_s)


TOXIPROXY: ProxyKind = Toxiproxy()


@asynccontextmanager
async def _started(log_dir: Path, timeout_s: float) -> AsyncIterator[ProxyServer]:
    binary = await asyncio.to_thread(toxiproxy_server)
    await asyncio.to_thread(make_folder, log_dir)
    log = log_dir / "toxiproxy.log"
    with port_block(1) as ports:
        process = await spawn(
            [binary, "-host", "127.0.0.1", "-port", str(ports[0])],
            env={**os.environ, "LOG_LEVEL": "debug"},  # requests are logged only at this level
            stdout=log,
            stderr=STDOUT,
        )
        try:
            server = Server(Endpoint(("127.0.0.1", ports[0]), timeout_s), process, log)
            await server.ready()
            yield server
        finally:
            await stop(process)


@asynccontextmanager
async def _borrowed(url: str, timeout_s: float) -> AsyncIterator[ProxyServer]:
    server = Server(Endpoint(_local_address(url), timeout_s))
    await server.ready()
    await server.sweep()
    try:
        yield server
    finally:
        await server.remove_all()


def _local_address(url: str) -> Address:
    parts = urllib.parse.urlsplit(url if "//" in url else f"//{url}")
    try:
        port = parts.port or 8474
    except ValueError:
        port = 0
    if parts.scheme not in ("", "http") or parts.hostname not in HOSTS or not port:
        raise UsageError(
            "toxiproxy-not-local",
            "{variable}={url} does not name a Toxiproxy on this machine: proxies lead to 127.0.0.1 only",
            hint=f"{URL}=http://127.0.0.1:8474, or unset it to have a server started",
            variable=URL,
            url=url,
        )
    return ("127.0.0.1" if parts.hostname == "localhost" else str(parts.hostname), port)


class Server:
    """A running server. ``process`` and ``log`` are given only for a server that the harness started."""

    def __init__(self, endpoint: Endpoint, process: Child | None = None, log: Path | None = None) -> None:
        self._endpoint = endpoint
        self._control = ControlledServer(endpoint)
        self._process = process
        self._log = log
        self._created: list[ControlledProxy] = []
        self._broken: ToxiproxyError | None = None
        self._requests = Requests(log, endpoint.user_agent) if log is not None else None

    @property
    def address(self) -> tuple[str, int]:
        """The address of the server's API."""
        return self._endpoint.address

    async def create(self, address: LaneAddress) -> Proxy:
        """Create an enabled proxy for ``address``. Raise PortInUse if something else listens on its advertised port."""
        listen, upstream = ("{}:{}".format(*end) for end in (address.advertised, address.witness))
        name = f"{PREFIX}lane{address.lane}-broker{address.broker}-{address.advertised[1]}"
        try:
            proxy = await self.call(self._control.create, upstream, name, listen)
        except PortInUse as error:
            raise PortInUse(
                "port-taken", "Toxiproxy cannot listen on {listen}: something else does", listen=listen
            ) from error
        self._created.append(proxy)
        return LaneProxy(self, proxy, address)

    async def alive(self) -> bool:
        """Return whether the server answers, and always has."""
        try:
            await self.call(self._control.version)
        except ToxiproxyError:
            return False
        return True

    async def strangers(self) -> list[str]:
        """Return other processes' requests since the last call; empty for a borrowed server, which has no log here."""
        return [] if self._requests is None else await asyncio.to_thread(self._requests.of_others)

    async def ready(self) -> None:
        """Wait until the server answers. Raise EnvironmentProblem if it does not, or has another version."""
        deadline = asyncio.get_running_loop().time() + START_TIMEOUT_S
        while True:
            try:
                version = await asyncio.to_thread(self._control.version)
                break
            except ServerGone as error:
                if not self._is_starting() or asyncio.get_running_loop().time() > deadline:
                    raise await self._explained(error) from error
                await asyncio.sleep(POLL_S)
        if not VERSION.fullmatch(version):
            raise EnvironmentProblem(
                "toxiproxy-version",
                "Toxiproxy {version} runs on port {port}, but 2.12 is needed: "
                "toxics behave differently in other versions",
                version=version,
                port=self.address[1],
            )

    async def sweep(self) -> None:
        """Remove proxies of killed runs. Their witness no longer listens; it does so as long as its run lives."""
        for name, proxy in (await self.call(self._control.proxies)).items():
            if name.startswith(PREFIX) and not await asyncio.to_thread(_listens, proxy.upstream):
                with suppress(NotFound):
                    await self.call(proxy.destroy)

    async def remove_all(self) -> None:
        """Remove the proxies created here, the last one first."""
        while self._created:
            with suppress(NotFound):
                await self.call(self._created.pop().destroy)

    async def call(self, function: Callable[..., T], *args: object, **kwargs: object) -> T:
        """Run a blocking control call in a thread. After a failure of the server, raise its error without a call."""
        if self._broken is not None:
            raise self._broken
        try:
            return await asyncio.to_thread(functools.partial(function, *args, **kwargs))
        except (ControlPlaneWedged, ServerGone) as error:
            self._broken = await self._explained(error)
            raise self._broken from error

    def _is_starting(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def _explained(self, error: ToxiproxyError) -> ToxiproxyError:
        if self._process is None or self._log is None or not isinstance(error, ServerGone):
            return error
        try:
            await asyncio.wait_for(self._process.wait(), EXIT_TIMEOUT_S)
        except TimeoutError:
            return error
        said = (await asyncio.to_thread(tail, self._log, TAIL_BYTES)).splitlines()[-3:]
        return ServerGone(
            "server-gone",
            "toxiproxy-server (pid {pid}) has ended by itself, exit code {returncode}; its "
            "log {log} ends with: {said}",
            pid=self._process.pid,
            returncode=self._process.returncode,
            log=self._log,
            said=" | ".join(said),
        )


def _listens(upstream: str) -> bool:
    host, _, port = upstream.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=1.0).close()
    except (OSError, ValueError):
        return False
    return True


@dataclass(frozen=True)
class Toxic:
    """A toxic that is on a proxy."""

    kind: str
    stream: str
    toxicity: float
    values: dict[str, int]


def unlike(
    address: LaneAddress, enabled: bool, toxics: Mapping[str, Toxic], row: Mapping[str, Any]
) -> str | None:
    """Return the first thing in the server's ``row`` of a proxy that differs from what was set, or None. Pure."""
    for name, end in (("listen", address.advertised), ("upstream", address.witness)):
        if row.get(name) != (wanted := "{}:{}".format(*end)):
            return f"{name} is {row.get(name)}, not {wanted}"
    if row.get("enabled") is not enabled:
        return "it is disabled" if enabled else "it is enabled"
    found = {each["name"]: each for each in row["toxics"]}
    for name in found.keys() ^ toxics.keys():
        return f"the toxic {name} is {'not from this run' if name in found else 'gone'}"
    for name, toxic in toxics.items():
        there = found[name]
        here = (there["type"], there["stream"], there["toxicity"], _said(there["attributes"]))
        if here != (toxic.kind, toxic.stream, toxic.toxicity, _said(toxic.values)):
            return f"the toxic {name} is changed"
    return None


def _said(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes without those that have their default value, which is 0 for all of them."""
    return {name: value for name, value in values.items() if value}


class LaneProxy:
    """One proxy of one lane on one broker (:class:`harness.plugins.proxy.Proxy`)."""

    def __init__(self, server: Server, proxy: ControlledProxy, address: LaneAddress) -> None:
        self._server = server
        self._proxy = proxy
        self._address = address
        self._toxics: dict[str, Toxic] = {}
        self._enabled = True
        self._lock = asyncio.Lock()
        self._drained_s = 0.0

    @property
    def address(self) -> LaneAddress:
        """The address where the proxy listens and the address that it leads to."""
        return self._address

    async def add_toxic(self, name: str, kind: str, stream: str, toxicity: float, **attributes: int) -> None:
        """Add a toxic to live and later connections. Raise UsageError for values that :mod:`faults.toxics` forbids."""
        values = checked(kind, stream, toxicity, attributes)
        async with self._lock:
            await self._put_on(name, Toxic(kind, stream, toxicity, values))

    async def update_toxic(self, name: str, toxicity: float | None = None, **attributes: int) -> None:
        """Change a toxic in place. Raise NotFound if there is none with that name."""
        async with self._lock:
            await self._update(name, toxicity, attributes)

    async def remove_toxic(self, name: str) -> None:
        """Remove a toxic after what it, and the toxics after it, hold has passed. Raise NotFound if it is missing."""
        async with self._lock:
            behind = self._holding_behind(name)
            for other in reversed(behind):
                await self._take_off(other)
            try:
                await self._take_off(name)
            finally:
                for other, toxic in behind.items():
                    await self._put_on(other, toxic)

    async def enable(self) -> None:
        """Listen again."""
        async with self._lock:
            await self._server.call(self._proxy.enable)
            self._enabled = True

    async def disable(self) -> None:
        """Close every connection, and refuse new ones until enabled."""
        async with self._lock:
            await self._server.call(self._proxy.disable)
            self._enabled = False

    async def pristine(self) -> bool:
        """Return whether the server says that the proxy is enabled and has no toxics."""
        row = await self._server.call(self._proxy.row)
        return bool(row["enabled"]) and not row["toxics"]

    async def differs(self) -> str | None:
        """Return in a few words how the server's state of the proxy differs from what was set here, or None."""
        async with self._lock:
            row = await self._server.call(self._proxy.row)
            return unlike(self._address, self._enabled, self._toxics, row)

    def _holding_behind(self, name: str) -> dict[str, Toxic]:
        names = list(self._toxics)
        if name not in names:
            return {}
        later = [(other, self._toxics[other]) for other in names[names.index(name) + 1 :]]
        stream = self._toxics[name].stream
        return {other: toxic for other, toxic in later if toxic.stream == stream and toxic.kind in HOLDING}

    async def _put_on(self, name: str, toxic: Toxic) -> None:
        row = {"name": name, "type": toxic.kind, "stream": toxic.stream, "toxicity": toxic.toxicity}
        add = functools.partial(self._proxy.add_toxic, **row, attributes=toxic.values)
        await self._change(toxic.stream, add)
        self._toxics[name] = toxic

    async def _update(self, name: str, toxicity: float | None, attributes: Mapping[str, int]) -> None:
        if name not in self._toxics:
            raise NotFound(
                "toxic-missing",
                "Toxiproxy: {proxy} has no toxic {name!r}",
                proxy=self._proxy.name,
                name=name,
            )
        toxic = self._toxics[name]
        values = toxic.values | dict(attributes)
        toxic = replace(toxic, values=values, toxicity=toxic.toxicity if toxicity is None else toxicity)
        checked(toxic.kind, toxic.stream, toxic.toxicity, values)
        change = {"attributes": values} | ({} if toxicity is None else {"toxicity": toxicity})
        await self._change(toxic.stream, functools.partial(self._proxy.update_toxic, name, change))
        self._toxics[name] = toxic

    async def _take_off(self, name: str) -> None:
        toxic = self._toxics.get(name)
        for change in HARMLESS.get(toxic.kind, ()) if toxic is not None else ():
            await self._update(name, None, change)
        destroy = functools.partial(self._proxy.destroy_toxic, name)
        await self._change(toxic.stream if toxic is not None else "", destroy)
        self._toxics.pop(name, None)

    async def _change(self, stream: str, call: Callable[[], None]) -> None:
        """Wait until what the last change released has left, or its connection has ended."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, self._drained_s - loop.time()))
        lets_go = any(toxic.stream == stream and toxic.kind in HOLDING for toxic in self._toxics.values())
        await self._server.call(call)
        if lets_go:
            self._drained_s = loop.time() + DRAIN_S
