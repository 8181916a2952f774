"""What the brokers will do later: timers, and the answers of requests that wait.

A request that cannot be answered at once has a :class:`Waiting` in its answer. Another request, a change of the cluster
or a timer completes it. Without a clock, everything that is due happens when the next request arrives. With a clock, it
happens at its time.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Final, Protocol

from harness.brokers.scripted.answer import Answer

Action = Callable[[int], None]
"""What happens at a time; its argument is the time in ns."""

#: The node of a timer that no broker's pause delays.
ANY_NODE: Final = -1
#: The time of an action that is due whenever the brokers are asked next.
AT_ONCE: Final = 0


class Clock(Protocol):
    """The caller's time: see harness.simulated.scheduler."""

    now_ns: int

    def at(self, when_ns: int, action: Callable[[], None]) -> object:
        """Call ``action`` at that time, or now if it has ended."""


class Timer:
    """A timer. Without an action it was cancelled."""

    __slots__ = ("action", "node_id", "when_ns")

    def __init__(self, when_ns: int, node_id: int, action: Action) -> None:
        self.when_ns = when_ns
        self.node_id = node_id
        self.action: Action | None = action

    def cancel(self) -> None:
        """Cancel the timer. Has no effect after it has fired."""
        self.action = None


class Agenda:
    """The timers of all brokers. Those of a paused broker wait until it continues."""

    def __init__(self, is_paused: Callable[[int], bool]) -> None:
        self._is_paused = is_paused
        self._heap: list[tuple[int, int, Timer]] = []
        self._held: list[tuple[int, int, Timer]] = []
        self._number = 0
        self._clock: Clock | None = None
        self._rings_at_ns: int | None = None
        #: The time of the last event or request.
        self.now_ns = 0

    def at(self, when_ns: int, action: Action, node_id: int = ANY_NODE) -> Timer:
        """Call ``action`` at ``when_ns``, or as soon as possible for AT_ONCE."""
        timer = Timer(when_ns, node_id, action)
        self._number += 1
        heappush(self._heap, (when_ns, self._number, timer))
        if self._clock is not None:
            self._set_alarm()
        return timer

    def use(self, clock: Clock) -> None:
        """Let ``clock`` fire the timers from now on."""
        if self._clock is None:
            self._clock = clock
            self._set_alarm()

    @property
    def next_ns(self) -> int | None:
        """When the next timer is due, or None."""
        while self._heap and self._heap[0][2].action is None:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def run(self, now_ns: int) -> None:
        """Fire every timer that is due, each as of its own time, in the order of these times."""
        heap = self._heap
        while heap and heap[0][0] <= now_ns:
            entry = heappop(heap)
            timer = entry[2]
            if timer.action is None:
                continue
            if timer.node_id != ANY_NODE and self._is_paused(timer.node_id):
                self._held.append(entry)
                continue
            action, timer.action = timer.action, None
            self.now_ns = now_ns if entry[0] == AT_ONCE else entry[0]
            action(self.now_ns)
        self.now_ns = now_ns
        if self._clock is not None:
            self._set_alarm()

    def resume(self, node_id: int) -> None:
        """Let the timers of a broker that continues fire."""
        self._heap += [(AT_ONCE, *entry[1:]) for entry in self._held if entry[2].node_id == node_id]
        heapify(self._heap)
        self._held = [entry for entry in self._held if entry[2].node_id != node_id]
        if self._clock is not None:
            self._set_alarm()

    def _set_alarm(self) -> None:
        due_ns = self.next_ns
        if self._clock is None or due_ns is None:
            return
        if self._rings_at_ns is None or due_ns < self._rings_at_ns:
            self._rings_at_ns = due_ns
            self._clock.at(due_ns, lambda: self._ring(due_ns))

    def _ring(self, due_ns: int) -> None:
        if self._clock is not None and self._rings_at_ns == due_ns:
            self._rings_at_ns = None
            self.run(self._clock.now_ns)


class Waiting:
    """A request that waits for its answer. A paused broker answers once it continues."""

    __slots__ = ("_agenda", "_listeners", "_node_id", "answer")

    def __init__(self, agenda: Agenda, node_id: int) -> None:
        #: The answer, or None as long as the request waits.
        self.answer: Answer | None = None
        self._agenda = agenda
        self._node_id = node_id
        self._listeners: list[Callable[[Answer], None]] = []

    def then(self, listener: Callable[[Answer], None], clock: Clock | None = None) -> None:
        """Call ``listener`` with the answer once it is there. ``clock`` then fires what the answer waits for.

        The listener may not send a request: it is called in the middle of another one.
        """
        if clock is not None:
            self._agenda.use(clock)
        if self.answer is not None:
            listener(self.answer)
        else:
            self._listeners.append(listener)

    def complete(self, frame: bytes, now_ns: int) -> None:
        """Answer the request, unless that was done already."""
        if self.answer is None:
            self._agenda.at(now_ns, lambda at_ns: self._tell(frame, at_ns), self._node_id)

    def _tell(self, frame: bytes, now_ns: int) -> None:
        if self.answer is None:
            self.answer = Answer(frame, now_ns)
            for listener in self._listeners:
                listener(self.answer)
