"""FetchBuffer: what brokers have sent and the application has not taken, in the order of arrival."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable

from clients.reference.consumer.fetch.completed_fetch import CompletedFetch
from clients.reference.metadata.topic_metadata import TopicPartition


class FetchBuffer:
    """Completed fetches: one is in line to be read, the others wait (FetchBuffer in Java, without its locks)."""

    def __init__(self) -> None:
        self._waiting: deque[CompletedFetch] = deque()
        self.next_in_line: CompletedFetch | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no fetch waits. One may be in line nevertheless."""
        return not self._waiting

    def has(self, wanted: Callable[[CompletedFetch], bool]) -> bool:
        """Return whether a fetch that is ``wanted`` waits or is in line."""
        current = self.next_in_line
        in_line = current is not None and not current.is_consumed and wanted(current)
        return in_line or any(map(wanted, self._waiting))

    def add(self, fetch: CompletedFetch) -> None:
        """Add a fetch behind all others."""
        self._waiting.append(fetch)

    def add_all(self, fetches: Iterable[CompletedFetch]) -> None:
        """Add several fetches, in their order."""
        self._waiting.extend(fetches)

    def peek(self) -> CompletedFetch | None:
        """Return the fetch that has waited longest, or None."""
        return self._waiting[0] if self._waiting else None

    def poll(self) -> CompletedFetch | None:
        """Remove and return the fetch that has waited longest, or None."""
        return self._waiting.popleft() if self._waiting else None

    def retain_all(self, partitions: Collection[TopicPartition]) -> None:
        """Drop the data of all other partitions."""
        for fetch in (*self._waiting, self.next_in_line):
            if fetch is not None and fetch.partition not in partitions:
                fetch.drain()
        self._waiting = deque(fetch for fetch in self._waiting if fetch.partition in partitions)
        if self.next_in_line is not None and self.next_in_line.partition not in partitions:
            self.next_in_line = None

    def buffered_partitions(self) -> set[TopicPartition]:
        """Return the partitions that have data here."""
        partitions = {fetch.partition for fetch in self._waiting}
        if self.next_in_line is not None and not self.next_in_line.is_consumed:
            partitions.add(self.next_in_line.partition)
        return partitions

    def close(self) -> None:
        """Drop everything."""
        self.retain_all(())
