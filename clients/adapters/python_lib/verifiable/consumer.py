"""What a program supplies for its client's consumer: an adapter whose calls are those of an application.

All of them come from one thread, as in an application with a poll loop (``member``). The client calls back through
``application``: a rebalance before the listener's method returns, and an automatic commit when its result is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from .adapter import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    #: A topic and the number of a partition.
    Place = tuple[str, int]

LATEST, EARLIEST = -1, -2


class Record(NamedTuple):
    """A record that the client handed over. ``leader_epoch`` is None if the client does not report it."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    leader_epoch: int | None = None


class Application(Protocol):
    """What a client calls back. The first three may raise the exception that the harness wants a listener to raise."""

    def assigned(self, partitions: Iterable[Place], generation: int = -1, member_id: str = "") -> None:
        """The partitions are new."""

    def revoked(self, partitions: Iterable[Place], taken: Sequence[Record] = ()) -> None:
        """The partitions are about to be given up. ``taken`` are the records that the current poll already has."""

    def lost(self, partitions: Iterable[Place], taken: Sequence[Record] = ()) -> None:
        """The partitions belong to another member by now."""

    def committed(self, offsets: Mapping[Place, int], error: str | None) -> None:
        """An automatic commit has a result."""


class ConsumerAdapter(Role):
    """The consumer of one client. An exception from :meth:`configure` is fatal, as is one of :meth:`finished`.

    Any other is the client's own: the application survives it, and reports it under the name from :meth:`describe`.
    Only methods that ``features`` of the client promise are called, for the others the program answers for itself.
    """

    #: The listener's methods that this client has.
    callbacks: tuple[str, ...] = ("assigned", "revoked", "lost")

    #: Set before :meth:`configure`.
    application: Application

    def subscribe(self, topics: Sequence[str], pattern: str | None) -> None:
        """Subscribe to topics, or to those that match ``pattern``, in place of an earlier subscription."""
        raise NotImplementedError

    def assign(self, positions: Mapping[Place, int]) -> None:
        """Assign partitions. One with an offset other than -1 is read from there; -2 is its beginning."""
        raise NotImplementedError

    def unsubscribe(self) -> None:
        """Give up subscription and assignment."""
        raise NotImplementedError

    def poll(self, timeout_s: float) -> Sequence[Record]:
        """Return the next records, after at most ``timeout_s``."""
        raise NotImplementedError

    def try_poll(self, timeout_s: float) -> Sequence[Record]:
        """Poll once in a state that does not allow it. A call that never returns ends with an error."""
        return self.poll(timeout_s)

    def finished(self) -> None:
        """Learn that the application is done with the records of the last poll."""

    def commit(self, offsets: Mapping[Place, int]) -> None:
        """Commit, and wait for the result. Raise the client's error."""
        raise NotImplementedError

    def commit_async(self, offsets: Mapping[Place, int], done: Callable[[Exception | None], None]) -> None:
        """Commit without waiting. Call ``done`` once, now or later, on any thread."""
        raise NotImplementedError

    def seek(self, place: Place, offset: int) -> None:
        """Set the position of a partition. -1 is its end, -2 its beginning."""
        raise NotImplementedError

    def pause(self, places: Collection[Place]) -> None:
        """Pause partitions."""
        raise NotImplementedError

    def resume(self, places: Collection[Place]) -> None:
        """Resume partitions."""
        raise NotImplementedError

    def wakeup(self) -> None:
        """Interrupt the current or next poll. Called from another thread."""
        raise NotImplementedError

    def describe(self, error: Exception) -> tuple[str, bool | None]:
        """Return the client's own name of an error, and whether it calls it retriable."""
        retriable = getattr(error, "retriable", None)
        return type(error).__name__, retriable if isinstance(retriable, bool) else None
