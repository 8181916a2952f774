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
    """A proxy of one lane on one broker that the harness controls. Every call raises if the server reports an error."""

    @property
    def address(self) -> LaneAddress:
        """The lane, the broker, and where the proxy listens and connects."""

    async def add_toxic(self, name: str, kind: str, stream: str, toxicity: float, **attributes: int) -> None:
        """Add a toxic to the stream "upstream" or "downstream".

        ``kind`` and ``attributes`` are those of Toxiproxy. ``toxicity`` is the share of connections that it affects,
        0.0 to 1.0.
        """

    async def update_toxic(self, name: str, toxicity: float | None = None, **attributes: int) -> None:
        """Change a toxic in place. Raise NoSuchToxic if there is none with that name."""

    async def remove_toxic(self, name: str) -> None:
        """Remove a toxic. Raise NoSuchToxic if there is none with that name."""

    async def enable(self) -> None:
        """Listen again, after :meth:`disable`."""

    async def disable(self) -> None:
        """Close all connections, and refuse new ones."""

    async def pristine(self) -> bool:
        """Return True if the proxy is enabled and has no toxic."""

    async def differs(self) -> str | None:
        """Return what differs from the state that this harness has set, or None if nothing does."""


class ProxyServer(Protocol):
    """The proxies of a run."""

    async def create(self, address: LaneAddress) -> Proxy:
        """Create the proxy of a lane on a broker, enabled and without a toxic."""

    async def alive(self) -> bool:
        """Return True if the server still answers."""

    async def strangers(self) -> list[str]:
        """Return the requests that others made to the server since the last call, if the server records them."""


class ProxyKind(Protocol):
    """Entry-point group ``kafka_trial.proxies``: a source of proxies."""

    name: str

    def server(self, log_dir: Path) -> AbstractAsyncContextManager[ProxyServer]:
        """Run a server, which writes its log into ``log_dir``. Stop it and remove its proxies on exit."""
