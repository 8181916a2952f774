"""Virtual time: a heap of events, ordered by their time and, for equal times, by when they were scheduled.

Time only moves to the next event, and nothing ever waits. Two runs that schedule the same events in the same order
process them in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

NS_PER_MS = 1_000_000

#: The wall clock's time when virtual time is 0: November 2023. Any constant would do.
WALL_MS_AT_ZERO = 1_700_000_000_000

Action = Callable[[], None]


class Event:
    """A scheduled event. Without an action it has been cancelled."""

    __slots__ = ("action",)

    def __init__(self, action: Action) -> None:
        self.action: Action | None = action

    def cancel(self) -> None:
        """Cancel the event. Has no effect if it has already happened."""
        self.action = None


class Scheduler:
    """``now_ns`` is the virtual time; its start is a parameter."""

    __slots__ = ("_heap", "_number", "happened", "now_ns")

    def __init__(self, now_ns: int) -> None:
        self.now_ns = now_ns
        #: The number of processed events, by which a trial that does not end is recognised.
        self.happened = 0
        self._heap: list[tuple[int, int, Event]] = []
        self._number = 0

    def at(self, when_ns: int, action: Action) -> Event:
        """Call ``action`` at ``when_ns``. A time in the past means now, after the events that are due already."""
        self._number = number = self._number + 1
        event = Event(action)
        heappush(self._heap, (when_ns if when_ns > self.now_ns else self.now_ns, number, event))
        return event

    def next_ns(self) -> int | None:
        """Return when the next event is due, or None if there is none."""
        heap = self._heap
        while heap and heap[0][2].action is None:
            heappop(heap)
        return heap[0][0] if heap else None

    def run_next(self, limit_ns: int) -> None:
        """Move to the time of the next event, at most to ``limit_ns``, and process what is due then."""
        heap = self._heap
        while heap and heap[0][2].action is None:
            heappop(heap)
        if heap and heap[0][0] <= limit_ns:
            self.run(heap[0][0])
        elif limit_ns > self.now_ns:
            self.now_ns = limit_ns

    def run(self, until_ns: int) -> None:
        """Move to ``until_ns``, and process in order what is due by then, including events added meanwhile."""
        heap = self._heap
        while heap and heap[0][0] <= until_ns:
            when_ns, _, event = heappop(heap)
            if (action := event.action) is not None:
                self.now_ns = when_ns
                self.happened += 1
                action()
        if until_ns > self.now_ns:
            self.now_ns = until_ns
