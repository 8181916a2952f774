"""One direction of one connection on its way through a proxy: what is in it, and when it comes out at the other end.

Order is kept whatever happens: a piece never overtakes the one before it, and FIN stands behind the data. How long
the way takes is asked of the :class:`Direction`, which all connections of a proxy share and which faults change;
what is under way is then timed anew, so that what a delay held back comes out at once when the delay is gone. Bytes
are swallowed where they would come out.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable

from harness.simulated.scheduler import Event, Scheduler

#: The way between client and broker without any fault, in nanoseconds.
BASE_NS = 100_000
NS_PER_S = 1_000_000_000

#: What comes out of a pipe: bytes, or None for FIN.
Out = Callable[[bytes | None], None]


class Direction:
    """What faults do to all pipes of one direction of a proxy, each under the name of its fault.

    ``latency_ns`` add up; of several bandwidths the lowest counts, of several slicers the finest.
    ``touched`` counts, by name, what was swallowed.
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
        """Have everything arrive later."""
        self._latencies[name] = latency_ns
        self._settle()

    def throttle(self, name: str, bytes_per_s: int) -> None:
        """Have bytes leave no faster than this on each connection."""
        self._rates[name] = bytes_per_s
        self._settle()

    def slice(self, name: str, size_bytes: int, delay_ns: int) -> None:
        """Cut everything into pieces of ``size_bytes``, ``delay_ns`` apart."""
        self._slicers[name] = (size_bytes, delay_ns)
        self._settle()

    def silence(self, name: str) -> None:
        """Throw every byte away. FIN still passes."""
        self.silent.add(name)
        self._settle()

    def restore(self, name: str) -> bool:
        """Take away what ``name`` did; True if it had done anything."""
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
    """Bytes (or FIN) under way; ``gap_ns`` is how long after the piece before it follows at the earliest."""

    __slots__ = ("data", "entered_ns", "event", "gap_ns")

    def __init__(self, entered_ns: int, data: bytes | None, gap_ns: int) -> None:
        self.entered_ns = entered_ns
        self.data = data
        self.gap_ns = gap_ns
        self.event: Event


class Pipe:
    """See the module; ``out`` gets what comes out, at its time."""

    __slots__ = ("_direction", "_last_ns", "_out", "_pieces", "_scheduler")

    def __init__(self, scheduler: Scheduler, direction: Direction, out: Out) -> None:
        self._scheduler = scheduler
        self._direction = direction
        self._out = out
        self._pieces: deque[Piece] = deque()
        self._last_ns = 0

    def push(self, data: bytes | None) -> None:
        """Bytes, or None for FIN, go in now."""
        now_ns = self._scheduler.now_ns
        size_bytes, delay_ns = self._direction.slicer
        if data is None or not size_bytes or len(data) <= size_bytes:
            self._enter(Piece(now_ns, data, 0))
            return
        for at in range(0, len(data), size_bytes):
            self._enter(Piece(now_ns, data[at : at + size_bytes], delay_ns if at else 0))

    def clear(self) -> None:
        """Lose everything that is under way."""
        for piece in self._pieces:
            piece.event.cancel()
        self._pieces.clear()

    def retime(self) -> None:
        """The direction has changed: everything under way gets a new time."""
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
