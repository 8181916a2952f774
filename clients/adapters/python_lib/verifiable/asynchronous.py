"""An adapter for a client on an event loop: its methods are coroutines.

The loop runs in a separate thread, so that the heartbeat continues during any await. A send is awaited until the
client has accepted the record, which keeps records in order. The record's result follows later.

A client on a loop may rebalance while the application works on records. Its listener waits until the application is
done with them, as that of an application would that must not lose its place.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from typing import TYPE_CHECKING, Any

from .adapter import Adapter
from .consumer import ConsumerAdapter

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
    from typing import TypeVar

    from .adapter import Applied, NotSet
    from .consumer import Place, Record
    from .output import Result

    T = TypeVar("T")


#: A poll that has not come back after this time never will.
ENDLESS_S = 5.0


class LoopThread:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def start(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Start ``work`` on the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of ``work``."""
        return self.start(work).result()

    def within(self, timeout_s: float, work: Coroutine[Any, Any, None]) -> bool:
        """Return whether the work was done in time. If not, cancel it without waiting for its end."""
        done = self.start(work)
        try:
            done.result(timeout_s)
        except concurrent.futures.TimeoutError:
            done.cancel()
            return False
        return True


class AsyncAdapter(Adapter):
    """An :class:`Adapter` whose methods are coroutines, all on one loop."""

    def __init__(self) -> None:
        self._loop = LoopThread()

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

    async def on_init_transactions(self) -> None:
        """See :meth:`Adapter.init_transactions`. Like the next four, only with the feature ``transactions``."""
        raise NotImplementedError

    async def on_begin_transaction(self) -> None:
        """See :meth:`Adapter.begin_transaction`."""
        raise NotImplementedError

    async def on_commit_transaction(self) -> None:
        """See :meth:`Adapter.commit_transaction`."""
        raise NotImplementedError

    async def on_abort_transaction(self) -> None:
        """See :meth:`Adapter.abort_transaction`."""
        raise NotImplementedError

    async def on_renew(self) -> None:
        """See :meth:`Adapter.renew`."""
        raise NotImplementedError

    def configure(self, config: Mapping[str, Any]) -> tuple[Applied, NotSet]:
        return self._loop.run(self.on_configure(config))

    def init_transactions(self) -> None:
        self._loop.run(self.on_init_transactions())

    def begin_transaction(self) -> None:
        self._loop.run(self.on_begin_transaction())

    def commit_transaction(self) -> None:
        self._loop.run(self.on_commit_transaction())

    def abort_transaction(self) -> None:
        self._loop.run(self.on_abort_transaction())

    def renew(self) -> None:
        self._loop.run(self.on_renew())

    def send(self, topic: str, key: str | None, value: str, partition: int | None, result: Result) -> None:
        self._loop.run(self.on_send(topic, key, value, partition, result))

    def flush(self, timeout_s: float) -> bool:
        return self._loop.within(timeout_s, self.on_flush())

    def close(self, timeout_s: float) -> bool:
        return self._loop.within(timeout_s, self.on_close())


class AsyncConsumerAdapter(ConsumerAdapter):
    """A :class:`ConsumerAdapter` whose methods are coroutines, all on one loop.

    The client's listener calls the application through :meth:`between_turns`.
    """

    def __init__(self) -> None:
        self._loop = LoopThread()

    async def on_configure(self, config: Mapping[str, Any]) -> tuple[Applied, NotSet]:
        """See :meth:`ConsumerAdapter.configure`."""
        raise NotImplementedError

    async def on_subscribe(self, topics: Sequence[str], pattern: str | None) -> None:
        """See :meth:`ConsumerAdapter.subscribe`."""
        raise NotImplementedError

    async def on_assign(self, positions: Mapping[Place, int]) -> None:
        """See :meth:`ConsumerAdapter.assign`."""
        raise NotImplementedError

    async def on_unsubscribe(self) -> None:
        """See :meth:`ConsumerAdapter.unsubscribe`."""
        raise NotImplementedError

    async def on_poll(self, timeout_s: float) -> Sequence[Record]:
        """See :meth:`ConsumerAdapter.poll`."""
        raise NotImplementedError

    async def on_commit(self, offsets: Mapping[Place, int]) -> None:
        """See :meth:`ConsumerAdapter.commit`. An asynchronous commit is the same coroutine."""
        raise NotImplementedError

    async def on_seek(self, place: Place, offset: int) -> None:
        """See :meth:`ConsumerAdapter.seek`."""
        raise NotImplementedError

    async def on_pause(self, places: Collection[Place]) -> None:
        """See :meth:`ConsumerAdapter.pause`."""
        raise NotImplementedError

    async def on_resume(self, places: Collection[Place]) -> None:
        """See :meth:`ConsumerAdapter.resume`."""
        raise NotImplementedError

    async def on_close(self) -> None:
        """Close the client. Cancelled at the timeout."""
        raise NotImplementedError

    async def between_turns(self, callback: Callable[..., None], *args: Any) -> None:
        """Call the application as soon as it is done with its records."""
        async with self._turn:
            callback(*args)

    def configure(self, config: Mapping[str, Any]) -> tuple[Applied, NotSet]:
        return self._loop.run(self._configured(config))

    def subscribe(self, topics: Sequence[str], pattern: str | None) -> None:
        self._loop.run(self.on_subscribe(topics, pattern))

    def assign(self, positions: Mapping[Place, int]) -> None:
        self._loop.run(self.on_assign(positions))

    def unsubscribe(self) -> None:
        self._loop.run(self.on_unsubscribe())

    def poll(self, timeout_s: float) -> Sequence[Record]:
        return self._loop.run(self._polled(timeout_s))

    def try_poll(self, timeout_s: float) -> Sequence[Record]:
        return self._loop.run(asyncio.wait_for(self._polled(timeout_s), ENDLESS_S))

    def finished(self) -> None:
        self._loop.run(self._released())

    def commit(self, offsets: Mapping[Place, int]) -> None:
        self._loop.run(self.on_commit(offsets))

    def commit_async(self, offsets: Mapping[Place, int], done: Callable[[Exception | None], None]) -> None:
        def settled(future: concurrent.futures.Future[None]) -> None:
            error = future.exception()
            done(error if isinstance(error, Exception) else None)

        self._loop.start(self.on_commit(offsets)).add_done_callback(settled)

    def seek(self, place: Place, offset: int) -> None:
        self._loop.run(self.on_seek(place, offset))

    def pause(self, places: Collection[Place]) -> None:
        self._loop.run(self.on_pause(places))

    def resume(self, places: Collection[Place]) -> None:
        self._loop.run(self.on_resume(places))

    def close(self, timeout_s: float) -> bool:
        return self._loop.within(timeout_s, self.on_close())

    async def _configured(self, config: Mapping[str, Any]) -> tuple[Applied, NotSet]:
        self._turn = asyncio.Lock()  # before Python 3.10, it belongs to the loop that runs
        return await self.on_configure(config)

    async def _polled(self, timeout_s: float) -> Sequence[Record]:
        async with self._turn:
            pass  # listeners that have waited come first
        records = await self.on_poll(timeout_s)
        if records:
            await self._turn.acquire()
        return records

    async def _released(self) -> None:
        self._turn.release()
