"""What the harness needs of a proxy, of a server of proxies, and of a kind of server."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from harness.model.addresses import LaneAddress


class Proxy(Protocol):
    """One proxy of one lane on one broker, under our control. Every call raises on any error of the server."""

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
        """True if the proxy is enabled and carries no toxic."""

    async def differs(self) -> str | None:
        """What is not as this harness has set it; None: all is."""


class ProxyServer(Protocol):
    """The proxies of a run."""

    async def create(self, address: LaneAddress) -> Proxy: ...
    async def alive(self) -> bool: ...
    async def strangers(self) -> list[str]:
        """What others have asked of the server since the last call, as far as it tells."""


class ProxyKind(Protocol):
    """Entry-point group ``kafka_trial.proxies``: where proxies come from."""

    name: str

    def server(self, log_dir: Path) -> AbstractAsyncContextManager[ProxyServer]: ...
