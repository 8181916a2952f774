"""Virtual time: a heap of things to do, in the order of their time, and of being asked for where times are equal.

Time only moves when the next thing is due; nothing ever waits. Two runs that ask for the same things in the same
order see the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

NS_PER_MS = 1_000_000

#: What every wall clock shows when virtual time is 0: November 2023. Any moment will do, so long as it is always
#: the same.
WALL_MS_AT_ZERO = 1_700_000_000_000

Action = Callable[[], None]


class Event:
    """Something that is to happen; without an action it has been called off."""

    __slots__ = ("action",)

    def __init__(self, action: Action) -> None:
        self.action: Action | None = action

    def cancel(self) -> None:
        """Have it not happen; no matter if it has."""
        self.action = None


class Scheduler:
    """``now_ns`` is the virtual time; it starts where it is told to."""

    __slots__ = ("_heap", "_number", "happened", "now_ns")

    def __init__(self, now_ns: int) -> None:
        self.now_ns = now_ns
        #: How many events have happened: the measure of a trial that does not come to an end.
        self.happened = 0
        self._heap: list[tuple[int, int, Event]] = []
        self._number = 0

    def at(self, when_ns: int, action: Action) -> Event:
        """Have ``action`` done at ``when_ns``; what is asked for in the past is done now, after what is due already."""
        self._number = number = self._number + 1
        event = Event(action)
        heappush(self._heap, (when_ns if when_ns > self.now_ns else self.now_ns, number, event))
        return event

    def next_ns(self) -> int | None:
        """When the next event is due, None if nothing is left to happen."""
        heap = self._heap
        while heap and heap[0][2].action is None:
            heappop(heap)
        return heap[0][0] if heap else None

    def run_next(self, limit_ns: int) -> None:
        """Move to the next moment at which anything is to happen, at most to ``limit_ns``, and do what is due then."""
        heap = self._heap
        while heap and heap[0][2].action is None:
            heappop(heap)
        if heap and heap[0][0] <= limit_ns:
            self.run(heap[0][0])
        elif limit_ns > self.now_ns:
            self.now_ns = limit_ns

    def run(self, until_ns: int) -> None:
        """Move to ``until_ns`` and do all that is due by then, in order, also what it causes to be due by then."""
        heap = self._heap
        while heap and heap[0][0] <= until_ns:
            when_ns, _, event = heappop(heap)
            if (action := event.action) is not None:
                self.now_ns = when_ns
                self.happened += 1
                action()
        if until_ns > self.now_ns:
            self.now_ns = until_ns
