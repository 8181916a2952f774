"""What one member asked its brokers, with the answers, as evidence. Time is in milliseconds since load began."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count

from harness.model.consumer_rows import FetchPart, OffsetPart
from harness.model.evidence import Evidence
from harness.model.rows import Disposition, Frame, FrameKind
from tests.suites.checks.consume.call_story import CallStory
from tests.suites.story import TOPIC, ns


@dataclass
class FetchStory(CallStory):
    """Members as in a CallStory, and the frames between them and their brokers."""

    frames: list[Frame] = field(default_factory=list)
    opened: dict[int, int] = field(default_factory=dict)
    numbers: count[int] = field(default_factory=lambda: count(1))

    def ask(
        self,
        at_ms: float,
        answer_ms: float | None = None,
        *,
        api: str = "Fetch",
        member: str = "m1",
        conn: int = 1,
        broker: int = 1,
        asks: tuple[OffsetPart, ...] = (),
        tells: tuple[OffsetPart, ...] = (),
        session_epoch: int = -1,
        session_error: int = 0,
        is_doubled: bool = False,
    ) -> None:
        """The member sends a request, on a connection that it opens if it has none with that number.

        Without ``answer_ms`` it has no answer. An answer ``tells`` about partitions, or has an error as a whole.
        """
        if conn not in self.opened:
            self.opened[conn] = broker
            self._frame(at_ms - 1, conn, FrameKind.OPEN)
        number = next(self.numbers)
        asked = {"api": api, "correlation_id": number, "client_id": member}
        is_alone = session_epoch < 0
        session = (
            {"fetch": FetchPart(session_id=0 if is_alone else 1, session_epoch=session_epoch)}
            if api == "Fetch"
            else {}
        )
        self._frame(at_ms, conn, FrameKind.REQUEST, offsets=asks, **asked, **session)
        if answer_ms is not None:
            codes = {session_error, *(part.error_code for part in tells)} - {0, None}
            told = {"offsets": tells, "error_codes": tuple(sorted(codes)), **asked, **session}
            if session_error:
                told["fetch"] = FetchPart(session_id=0, error_code=session_error)
            disposition = {"disposition": Disposition.ANNOTATED} if is_doubled else {}
            self._frame(answer_ms, conn, FrameKind.RESPONSE, **told, **disposition)

    def hang_up(self, conn: int, at_ms: float, by: str = "client") -> None:
        """A connection ends."""
        self._frame(at_ms, conn, FrameKind.CLOSE, closed_by=by)

    def evidence(self) -> Evidence:
        """Return the evidence of a whole trial."""
        rows = tuple(sorted(self.frames, key=lambda frame: frame.t_ns))
        return replace(super().evidence(), frames=rows)

    def _frame(self, at_ms: float, conn: int, kind: FrameKind, **fields: object) -> None:
        self.frames.append(Frame(ns(at_ms), 0, self.opened[conn], conn, kind, **fields))


def part(partition: int = 0, offset: int | None = None, **fields: int) -> OffsetPart:
    """Return what is asked or told about a partition."""
    return OffsetPart(TOPIC, partition, offset=offset, **fields)
