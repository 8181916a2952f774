"""Random stories of a correct client and broker whose batches meet failures.

Any finding of a check in such a story is a false accusation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import strategies as st

from harness.model.verdicts import Guarantee
from tests.suites.story import Story

MISHAPS = ("none", "answer lost", "answer dropped", "request lost", "refused", "in silence", "trickles")
#: The request timeout of the stories, and the length of a fault that holds bytes for longer.
TIMEOUT_MS, TRICKLE_MS = 3_000, 4_000
OUTCOMES = ("ok", "ok", "ok", "info")


@dataclass
class Client:
    """A correct client and a correct broker: it retries for a reason, and claims only what it knows.

    With ``is_parallel`` it has one connection per partition, all to one broker. The end of one leaves the others
    open.
    """

    story: Story
    now_ms: float = 10
    is_parallel: bool = False
    conns: dict[int, int] = field(default_factory=dict)
    sequences: dict[int, int] = field(default_factory=dict)
    #: Broker actions, and the frames of abandoned connections, that happen once a batch has its result.
    late: list[Callable[[], None]] = field(default_factory=list)

    def way(self, partition: int) -> int:
        """Return the connection for a partition, and open it if necessary."""
        key = partition if self.is_parallel else 0
        if key not in self.conns:
            self.conns[key] = max((frame.conn for frame in self.story.frames), default=0) + 1
            self.story.open(self.conns[key], self.now_ms)
        return self.conns[key]

    def leave(self, partition: int) -> None:
        """Close the client's connection, from either side."""
        del self.conns[partition if self.is_parallel else 0]

    def send(self, numbers: list[int], partition: int, mishap: str, outcome: str) -> None:
        """Send one batch, from call to result."""
        story, idempotent = self.story, self.story.guarantee is Guarantee.IDEMPOTENT
        sequence = self._next(partition, numbers)
        story.call(*numbers, at_ms=self.now_ms)
        self.now_ms += 5
        base = self._mishap(numbers, partition, sequence, mishap)
        conn = self.way(partition)
        story.request(numbers, partition, self.now_ms, conn, sequence)
        if base is None or not idempotent:
            base = self._append(numbers, partition, sequence)
        story.answer(partition, base, self.now_ms + 1, conn)
        self.now_ms += 2
        for index, n in enumerate(numbers):
            known = outcome == "ok"
            story.result(
                n, self.now_ms, partition, base + index if known else -1, outcome, None if known else "late"
            )
        while self.late:
            self.late.pop()()

    def beside(self, refused: list[int], stored: list[int]) -> None:
        """Send one request for two partitions, of which one is rejected. Only that batch is sent again."""
        story, conn = self.story, self.way(0)
        story.call(*refused, *stored, at_ms=self.now_ms)
        sequences = [self._next(partition, numbers) for partition, numbers in ((0, refused), (1, stored))]
        story.request(refused, 0, self.now_ms + 1, conn, sequences[0])
        story.request(stored, 1, self.now_ms + 1, conn, sequences[1])
        story.together(2)
        places = {1: self._append(stored, 1, sequences[1])}
        story.answer(0, -1, self.now_ms + 2, conn, error_code=6)
        story.answer(1, places[1], self.now_ms + 2, conn)
        story.together(2)
        self.now_ms += 110
        story.request(refused, 0, self.now_ms, conn, sequences[0])
        places[0] = self._append(refused, 0, sequences[0])
        story.answer(0, places[0], self.now_ms + 1, conn)
        self.now_ms += 2
        for partition, numbers in ((0, refused), (1, stored)):
            for index, n in enumerate(numbers):
                story.result(n, self.now_ms, partition, places[partition] + index)

    def _next(self, partition: int, numbers: list[int]) -> tuple[int, int, int] | None:
        base = self.sequences.get(partition, 0)
        self.sequences[partition] = base + len(numbers)
        return (7, 0, base) if self.story.guarantee is Guarantee.IDEMPOTENT else None

    def overtake(self, slow: list[int], fast: list[int], partition: int) -> None:
        """Send two batches, of which the first is rejected. In the log it is after the second."""
        story, conn = self.story, self.way(partition)
        story.call(*slow, *fast, at_ms=self.now_ms)
        story.request(slow, partition, self.now_ms + 5, conn)
        story.answer(partition, -1, self.now_ms + 6, conn, error_code=7)
        for numbers, at_ms in ((fast, self.now_ms + 7), (slow, self.now_ms + 110)):
            base = story.deliver(numbers, partition, at_ms, conn)
            for index, n in enumerate(numbers):
                story.result(n, at_ms + 2, partition, base + index)
        self.now_ms += 120

    def _append(self, numbers: list[int], partition: int, sequence: tuple[int, int, int] | None) -> int:
        if sequence is None:
            return self.story.append(numbers, partition)
        return self.story.append(
            numbers, partition, producer_id=sequence[0], producer_epoch=sequence[1], sequence=sequence[2]
        )

    def _mishap(
        self, numbers: list[int], partition: int, sequence: tuple[int, int, int] | None, mishap: str
    ) -> int | None:
        """Let the first attempt fail, and return its base offset if the broker appended it."""
        if mishap == "none":
            return None
        story, base, conn = self.story, None, self.way(partition)
        if mishap == "trickles":
            self._trickle(numbers, partition, sequence)
            return None
        if mishap != "request lost":
            story.request(numbers, partition, self.now_ms, conn, sequence)
        if mishap == "refused":
            story.answer(partition, -1, self.now_ms + 1, conn, error_code=7)
            self.now_ms += 100
            return None
        if mishap != "request lost":
            base = self._append(numbers, partition, sequence)
        if mishap == "answer lost":
            story.answer(partition, base, self.now_ms + 1, conn)
            story.fault("disconnect", self.now_ms + 1, self.now_ms + 2)
        if mishap == "answer dropped":
            story.answer(partition, base, self.now_ms + 1, conn)
            story.fault("dropped_response", self.now_ms, self.now_ms + 900)
            self.now_ms += 900
        if mishap == "request lost":
            story.fault("disconnect", self.now_ms + 1, self.now_ms + 2)
        story.close(conn, self.now_ms + 2)
        self.now_ms += 60
        self.leave(partition)
        return base

    def _trickle(self, numbers: list[int], partition: int, sequence: tuple[int, int, int] | None) -> None:
        """The request trickles for longer than its timeout, and arrives after the retry was acknowledged.

        The client has closed its connection by then, and the broker still applies the request.
        """
        story, conn, sent_ms = self.story, self.way(partition), self.now_ms
        story.fault("bandwidth", sent_ms - 1, sent_ms + TRICKLE_MS, upstream_bytes_per_s=1_000)
        self.leave(partition)
        self.now_ms += TIMEOUT_MS + 10

        def arrive() -> None:
            at_ms = sent_ms + TRICKLE_MS
            story.request(numbers, partition, at_ms, conn, sequence)
            if sequence is None:
                story.answer(partition, self._append(numbers, partition, sequence), at_ms + 2, conn)
            story.close(conn, at_ms + 1)
            self.now_ms = at_ms + 3

        self.late.append(arrive)


@st.composite
def stories(draw: st.DrawFn, guarantee: Guarantee, outcomes: tuple[str, ...] = OUTCOMES) -> Story:
    """Return a correct client's story: 2 to 8 batches of 1 to 4 records on two partitions."""
    story = Story(guarantee)
    client, first = Client(story, is_parallel=draw(st.booleans())), 0
    for _ in range(draw(st.integers(2, 8))):
        size = draw(st.integers(1, 4))
        numbers = list(range(first, first + size))
        if guarantee is Guarantee.AT_LEAST_ONCE and size > 1 and draw(st.booleans()):
            client.overtake(numbers[:1], numbers[1:], draw(st.integers(0, 1)))
            first += size
            continue
        if size > 1 and draw(st.booleans()):
            client.beside(numbers[:1], numbers[1:])
            first += size
            continue
        client.send(
            numbers, draw(st.integers(0, 1)), draw(st.sampled_from(MISHAPS)), draw(st.sampled_from(outcomes))
        )
        first += size
    story.beat(*range(0, int(client.now_ms) + 1_000, 1_000))
    story.finished("flush", client.now_ms)
    return story
