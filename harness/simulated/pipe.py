"""One direction of one connection through a proxy: the data in flight, and when it arrives at the other end.

Order is always kept: a piece never overtakes an earlier one, and FIN follows the data. The :class:`Direction`
determines how long the data takes. All connections of a proxy share it, and faults change it. After a change, data in
flight gets a new time, so that data held back by a delay arrives at once when the delay ends. Swallowed bytes disappear
at the end of the pipe.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable

from harness.simulated.scheduler import Event, Scheduler

#: The time between client and broker without any fault, in nanoseconds.
BASE_NS = 100_000
NS_PER_S = 1_000_000_000

#: What a pipe outputs: bytes, or None for FIN.
Out = Callable[[bytes | None], None]


class Direction:
    """The effects of faults on all pipes of one direction of a proxy, each under the name of its fault.

    The values of ``latency_ns`` add up. The lowest bandwidth and the finest slicer apply. ``touched`` counts, by name,
    what was swallowed.
    """

    __slots__ = (
        "_latencies",
        "_rates",
        "_slicers",
        "latency_ns",
        "plain",
        "rate",
        "silent",
        "slicer",
        "touched",
    )

    def __init__(self, touched: Counter[str]) -> None:
        self.touched = touched
        self.silent: set[str] = set()
        self._latencies: dict[str, int] = {}
        self._rates: dict[str, int] = {}
        self._slicers: dict[str, tuple[int, int]] = {}
        self._settle()

    def delay(self, name: str, latency_ns: int) -> None:
        """Delay everything."""
        self._latencies[name] = latency_ns
        self._settle()

    def throttle(self, name: str, bytes_per_s: int) -> None:
        """Limit the rate at which bytes leave on each connection."""
        self._rates[name] = bytes_per_s
        self._settle()

    def slice(self, name: str, size_bytes: int, delay_ns: int) -> None:
        """Cut everything into pieces of ``size_bytes``, ``delay_ns`` apart."""
        self._slicers[name] = (size_bytes, delay_ns)
        self._settle()

    def silence(self, name: str) -> None:
        """Discard every byte. FIN still passes."""
        self.silent.add(name)
        self._settle()

    def restore(self, name: str) -> bool:
        """Remove the effects of ``name``. Return True if there were any."""
        there = name in self.silent or any(name in each for each in self._tables())
        self.silent.discard(name)
        for each in self._tables():
            each.pop(name, None)
        self._settle()
        return there

    def _tables(self) -> tuple[dict[str, int] | dict[str, tuple[int, int]], ...]:
        return self._latencies, self._rates, self._slicers

    def _settle(self) -> None:
        self.latency_ns = sum(self._latencies.values())
        self.rate = min(self._rates.values(), default=0)
        self.slicer = min(self._slicers.values(), default=(0, 0))
        self.plain = not (self._latencies or self._rates or self._slicers or self.silent)


class Piece:
    """Bytes (or FIN) in flight. ``gap_ns`` is the minimum time after the previous piece."""

    __slots__ = ("data", "entered_ns", "event", "gap_ns")

    def __init__(self, entered_ns: int, data: bytes | None, gap_ns: int) -> None:
        self.entered_ns = entered_ns
        self.data = data
        self.gap_ns = gap_ns
        self.event: Event


class Pipe:
    """See the module. ``out`` receives the output at its time."""

    __slots__ = ("_direction", "_last_ns", "_out", "_pieces", "_scheduler")

    def __init__(self, scheduler: Scheduler, direction: Direction, out: Out) -> None:
        self._scheduler = scheduler
        self._direction = direction
        self._out = out
        self._pieces: deque[Piece] = deque()
        self._last_ns = 0

    def push(self, data: bytes | None) -> None:
        """Put in bytes, or None for FIN."""
        now_ns = self._scheduler.now_ns
        size_bytes, delay_ns = self._direction.slicer
        if data is None or not size_bytes or len(data) <= size_bytes:
            self._enter(Piece(now_ns, data, 0))
            return
        for at in range(0, len(data), size_bytes):
            self._enter(Piece(now_ns, data[at : at + size_bytes], delay_ns if at else 0))

    def clear(self) -> None:
        """Discard everything in flight."""
        for piece in self._pieces:
            piece.event.cancel()
        self._pieces.clear()

    def retime(self) -> None:
        """Give everything in flight a new time, because the direction has changed."""
        if self._pieces:
            under_way, self._pieces = self._pieces, deque()
            self._last_ns = self._scheduler.now_ns
            for piece in under_way:
                piece.event.cancel()
                self._enter(piece)

    def _enter(self, piece: Piece) -> None:
        direction = self._direction
        due_ns = piece.entered_ns + BASE_NS
        if piece.data is not None and not direction.plain:
            due_ns += direction.latency_ns
            if piece.gap_ns and direction.slicer[0]:
                due_ns = max(due_ns, self._last_ns + piece.gap_ns)
            if direction.rate:
                due_ns = max(due_ns, self._last_ns) + len(piece.data) * NS_PER_S // direction.rate
        if due_ns < self._last_ns:
            due_ns = self._last_ns
        self._last_ns = due_ns
        piece.event = self._scheduler.at(due_ns, self._leave)
        self._pieces.append(piece)

    def _leave(self) -> None:
        data = self._pieces.popleft().data
        direction = self._direction
        if data is not None and direction.silent:
            for name in sorted(direction.silent):
                direction.touched[name] += 1
            return
        self._out(data)
