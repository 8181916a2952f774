"""The interfaces of a proxy, of a proxy server, and of a kind of proxy server."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from harness.model.addresses import LaneAddress
from harness.model.errors import EnvironmentProblem


class NoSuchToxic(EnvironmentProblem):
    """The proxy has no toxic with that name."""


class Proxy(Protocol):
    """A proxy of one lane on one broker that the harness controls. Every call raises if the server reports an error.

    ``update_toxic`` and ``remove_toxic`` raise NoSuchToxic for a name that the proxy does not have.
    """

    @property
    def address(self) -> LaneAddress: ...
    async def add_toxic(
        self, name: str, kind: str, stream: str, toxicity: float, **attributes: int
    ) -> None: ...
    async def update_toxic(self, name: str, toxicity: float | None = None, **attributes: int) -> None: ...
    async def remove_toxic(self, name: str) -> None: ...
    async def enable(self) -> None: ...
    async def disable(self) -> None: ...
    async def pristine(self) -> bool:
        """Return True if the proxy is enabled and has no toxic."""

    async def differs(self) -> str | None:
        """Return what differs from the state that this harness has set, or None if nothing does."""


class ProxyServer(Protocol):
    """The proxies of a run."""

    async def create(self, address: LaneAddress) -> Proxy: ...
    async def alive(self) -> bool: ...
    async def strangers(self) -> list[str]:
        """Return the requests that others made to the server since the last call, if the server records them."""


class ProxyKind(Protocol):
    """Entry-point group ``kafka_trial.proxies``: a source of proxies."""

    name: str

    def server(self, log_dir: Path) -> AbstractAsyncContextManager[ProxyServer]: ...
