"""An adapter for a client on an event loop: its methods are coroutines.

The loop runs in a separate thread, so that the heartbeat continues during any await. A send is awaited until the
client has accepted the record, which keeps records in order. The record's result follows later.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from typing import TYPE_CHECKING, Any

from .adapter import Adapter

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping
    from typing import TypeVar

    from .adapter import Applied, NotSet
    from .output import Result

    T = TypeVar("T")


class AsyncAdapter(Adapter):
    """An :class:`Adapter` whose methods are coroutines, all on one loop."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    async def on_configure(self, config: Mapping[str, Any]) -> tuple[Applied, NotSet]:
        """See :meth:`Adapter.configure`."""
        raise NotImplementedError

    async def on_send(
        self, topic: str, key: str | None, value: str, partition: int | None, result: Result
    ) -> None:
        """See :meth:`Adapter.send`. Return once the client has accepted the record."""
        raise NotImplementedError

    async def on_flush(self) -> None:
        """Flush the client. Cancelled at the timeout."""
        raise NotImplementedError

    async def on_close(self) -> None:
        """Close the client. Cancelled at the timeout."""
        raise NotImplementedError

    def configure(self, config: Mapping[str, Any]) -> tuple[Applied, NotSet]:
        return self._on_loop(self.on_configure(config)).result()

    def send(self, topic: str, key: str | None, value: str, partition: int | None, result: Result) -> None:
        self._on_loop(self.on_send(topic, key, value, partition, result)).result()

    def flush(self, timeout_s: float) -> bool:
        return self._within(timeout_s, self.on_flush())

    def close(self, timeout_s: float) -> bool:
        return self._within(timeout_s, self.on_close())

    def _on_loop(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _within(self, timeout_s: float, work: Coroutine[Any, Any, None]) -> bool:
        """Return whether the work was done in time. If not, cancel it without waiting for its end."""
        done = self._on_loop(work)
        try:
            done.result(timeout_s)
        except concurrent.futures.TimeoutError:
            done.cancel()
            return False
        return True
