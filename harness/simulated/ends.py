"""The interfaces by which the parts of a simulated network know each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from harness.model.rows import Frame
from harness.simulated.pipe import Direction
from harness.simulated.scheduler import Scheduler
from harness.witness.rules import FrameRules
from harness.witness.transcript import Transcript


class Later(Protocol):
    """An answer that is not known yet."""

    def then(self, listener: Callable[[Any], None], clock: Scheduler | None = None) -> None:
        """Call ``listener`` with the answer once it is known. ``clock`` moves the brokers' timers."""


class Answer(Protocol):
    """A broker's response to one request: see harness.brokers.scripted."""

    @property
    def frame(self) -> bytes | None:
        """The whole response frame, including its size field, or None if there is no response."""

    @property
    def at_ns(self) -> int:
        """When it is ready, in virtual time. The connection's next request waits for that."""

    @property
    def close(self) -> bool:
        """True if the broker closes the connection, after ``frame`` if there is one."""

    @property
    def again(self) -> bool:
        """True if the request was not read yet and must be handed over again at ``at_ns``."""

    @property
    def waiting(self) -> Later | None:
        """What gives the answer later, or None."""


class Broker(Protocol):
    """What the network needs from the brokers: see harness.brokers.scripted."""

    def accepts(self, node_id: int) -> bool:
        """Return whether a connection to the node succeeds now."""

    def handle(self, node_id: int, conn: int, payload: bytes, now_ns: int) -> Answer:
        """Process one request of connection ``conn``. ``payload`` is its frame without the size field."""


class Wire(Protocol):
    """What a connection needs from its network."""

    scheduler: Scheduler
    broker: Broker
    rules: FrameRules
    news: bool

    def later(self, delay_ns: int, action: Callable[[], None]) -> None:
        """Call ``action`` after ``delay_ns``."""

    def witnessed(self, node_id: int) -> tuple[Transcript, int]:
        """Return the transcript of a new connection to a broker, and its number."""

    def emit(self, rows: Iterable[Frame]) -> None:
        """Write rows of the witness."""


class Listener(Protocol):
    """What a connection needs from its proxy."""

    node_id: int
    touched: Counter[str]
    up: Direction
    down: Direction
    connections: dict[Any, None]


class Passing(Protocol):
    """What the rules of the witness need from the connection that they act on."""

    def pass_on(self, sender: str, data: bytes) -> None:
        """Pass on what ``sender`` sent, or what replaces it."""

    def pass_on_end(self, sender: str) -> None:
        """Pass on the FIN of ``sender``."""

    def end_by_witness(self) -> None:
        """End the connection, because a rule says so."""

    def nothing_waits(self) -> None:
        """No frame is held back any more."""
