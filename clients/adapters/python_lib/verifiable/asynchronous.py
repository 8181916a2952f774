"""A client that lives on an event loop: what an adapter does, as coroutines.

The loop runs in a thread of its own, so that the process is seen to live whatever is awaited. A send is waited for
until the client has taken the record, which keeps records in order; its result comes when it comes.
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
    """An :class:`Adapter` of which the methods are coroutines, all on one loop."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    async def on_configure(self, config: Mapping[str, Any]) -> tuple[Applied, NotSet]:
        """See :meth:`Adapter.configure`."""
        raise NotImplementedError

    async def on_send(
        self, topic: str, key: str | None, value: str, partition: int | None, result: Result
    ) -> None:
        """See :meth:`Adapter.send`; returns when the client has taken the record."""
        raise NotImplementedError

    async def on_flush(self) -> None:
        """Have the client flush; cancelled when the time is over."""
        raise NotImplementedError

    async def on_close(self) -> None:
        """Close the client; cancelled when the time is over."""
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
        """True if it was done in time; what is not is cancelled, and nobody waits until it is."""
        done = self._on_loop(work)
        try:
            done.result(timeout_s)
        except concurrent.futures.TimeoutError:
            done.cancel()
            return False
        return True
