"""The client processes of one trial: one for each producer of its load, behaving as one session.

Each is a :class:`harness.adapter.Conversation` of its own, so a producer's defects cannot hide in another's history.
Their events are recorded in the order of arrival, with the name of their producer if there are several.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self, TypeVar

from msgspec.structs import replace

from harness.adapter import Conversation
from harness.model.contract import AnyEvent, Configured, LoadCommand, Setting, StartupComplete
from harness.model.errors import ClientCrashed

T = TypeVar("T")


class Producers:
    """Conversations by the name of their producer: an async context manager that ends all of them at exit.

    ``identity`` returns the settings that the producer of a name has for itself.
    """

    def __init__(
        self, conversations: Mapping[str, Conversation], identity: Callable[[str], Mapping[str, Setting]]
    ) -> None:
        self._of, self._identity = dict(conversations), identity
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            for each in self._of.values():
                await stack.enter_async_context(each)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the producers."""
        return tuple(self._of)

    async def startup(self, timeout_s: float) -> list[StartupComplete]:
        """Wait until all processes have started."""
        return await self._all(lambda each: each.startup(timeout_s))

    async def configure(
        self, run_id: str, config: Mapping[str, Setting], *, role: str, own: Mapping[str, str]
    ) -> list[Configured]:
        """Configure each producer with these settings, ``own`` under the client's names, and its name as client id."""
        return await asyncio.gather(
            *(
                each.configure(
                    run_id,
                    name,
                    {**config, **self._identity(name), "client.id": name},
                    role=role,
                    own=own,
                )
                for name, each in self._of.items()
            )
        )

    async def load(self, name: str, command: LoadCommand) -> None:
        """Give a command to one producer. A producer that crashed gets no more of them."""
        try:
            await self._of[name].load(command)
        except ClientCrashed:
            if self._are_all_over:
                raise

    async def settle(self, timeout_s: float) -> None:
        """Wait until every record that was handed over has a result, for at most this time. Raises TimeoutError."""
        async with asyncio.timeout(timeout_s):
            await asyncio.gather(*(each.settled.wait() for each in self._of.values()))

    async def flush(self, timeout_ms: int) -> None:
        """Ask all producers to flush."""
        await self._all(lambda each: each.flush(timeout_ms))

    async def close(self, timeout_ms: int) -> None:
        """Close all producers and end their processes."""
        await self._all(lambda each: each.close(timeout_ms))

    async def until(self, seen: Callable[[], bool], timeout_s: float) -> None:
        """Wait until ``seen()`` is true after an event, for at most this time."""
        await self._all(lambda each: each.until(lambda: each.settled.is_set() or seen(), timeout_s))

    @property
    def settled(self) -> bool:
        """True if every record that was handed over has a result."""
        return all(each.settled.is_set() for each in self._of.values())

    @property
    def left_out(self) -> dict[str, int]:
        """The number of numbered events of each producer that the contract does not define."""
        return {name: each.left_out for name, each in self._of.items()}

    @property
    def _are_all_over(self) -> bool:
        return all(isinstance(each.error, ClientCrashed) for each in self._of.values())

    async def _all(self, ask: Callable[[Conversation], Awaitable[T]]) -> list[T]:
        """Ask all producers. Raises the first error other than a crash, and a crash if all have crashed."""
        told = await asyncio.gather(*map(ask, self._of.values()), return_exceptions=True)
        errors = [each for each in told if isinstance(each, BaseException)]
        grave = [error for error in errors if not isinstance(error, ClientCrashed)]
        if grave or len(errors) == len(told):
            raise (grave or errors)[0]
        return [each for each in told if not isinstance(each, BaseException)]


def heard_as(names: Sequence[str], name: str, hear: Callable[[AnyEvent], None]) -> Callable[[AnyEvent], None]:
    """Return a function that passes a producer's events on, with its name if there are several producers."""
    return hear if len(names) == 1 else lambda event: hear(replace(event, producer=name))
