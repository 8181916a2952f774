"""What a consumer's application knows and reports: its partitions, what it has processed, and results of commits.

Each event is written before the client's callback returns. Records that the client has already handed over are
processed before their partitions are given up, as an application does that works on batches.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from .consumer import Place, Record
    from .output import Output

#: A turn with more bytes of keys and values is reported in several events, since a line has a limit.
EVENT_BYTES = 1_000_000


class ListenerError(Exception):
    """The exception that the harness wants a listener to raise."""


class Owned:
    """The client's callbacks (:class:`~verifiable.consumer.Application`), and what they have left the application.

    ``take`` processes records, unless it cannot commit them first.
    """

    def __init__(self, output: Output, take: Callable[[Sequence[Record]], bool]) -> None:
        self._output, self._take = output, take
        self._throws: dict[str, int] = {}
        #: The next offset to read of each partition of which records were processed since it was assigned.
        self.processed: dict[Place, int] = {}

    def throw(self, callback: str, times: int) -> None:
        """Raise an exception in the next calls of the listener's method."""
        self._throws[callback] = times

    def assigned(self, partitions: Iterable[Place], generation: int = -1, member_id: str = "") -> None:
        self._forget(partitions := sorted(partitions))
        self._tell("assigned", partitions, {"generation": generation, "member_id": member_id})

    def revoked(self, partitions: Iterable[Place], taken: Sequence[Record] = ()) -> None:
        self._give_up("revoked", sorted(partitions), taken)

    def lost(self, partitions: Iterable[Place], taken: Sequence[Record] = ()) -> None:
        self._give_up("lost", sorted(partitions), taken)

    def committed(self, offsets: Mapping[Place, int], error: str | None) -> None:
        now_ns = time.monotonic_ns()  # an application learns only of the end
        tell_commit(self._output, offsets, "auto", (now_ns, now_ns), error)

    def _give_up(self, callback: str, partitions: Collection[Place], taken: Sequence[Record]) -> None:
        if taken:
            self._take(taken)
        self._forget(partitions)
        self._tell(callback, partitions, {})

    def _forget(self, partitions: Iterable[Place]) -> None:
        for place in partitions:
            self.processed.pop(place, None)

    def _tell(self, callback: str, partitions: Iterable[Place], more: Mapping[str, Any]) -> None:
        named = [{"topic": topic, "partition": partition} for topic, partition in partitions]
        self._output.event(f"partitions_{callback}", {"partitions": named, **more})
        left = self._throws.get(callback, 0)
        if left:
            self._throws[callback] = left - 1
            raise ListenerError(f"the listener's {callback} raises an exception, as requested")


def first_offsets(records: Iterable[Record]) -> dict[Place, int]:
    """Return the offset of the first record of each partition."""
    first: dict[Place, int] = {}
    for record in records:
        first.setdefault((record.topic, record.partition), record.offset)
    return first


def next_offsets(records: Iterable[Record]) -> dict[Place, int]:
    """Return the next offset to read of each partition."""
    return {(record.topic, record.partition): record.offset + 1 for record in records}


def tell_records(output: Output, records: Sequence[Record], polled_ns: int) -> None:
    """Write the records of one turn, in as many events as their size requires."""
    part: list[Record] = []
    size = 0
    for record in records:
        own = len(record.key or b"") + len(record.value or b"")
        if part and size + own > EVENT_BYTES:
            _tell_part(output, part, polled_ns)
            part, size = [], 0
        part.append(record)
        size += own
    _tell_part(output, part, polled_ns)


def tell_commit(
    output: Output, offsets: Mapping[Place, int], how: str, times_ns: tuple[int, int], error: str | None
) -> None:
    """Write the result of a commit. ``times_ns``: when it began, and when its result was known."""
    rows = [
        {"topic": topic, "partition": partition, "offset": offset}
        for (topic, partition), offset in sorted(offsets.items())
    ]
    told = {"offsets": rows, "success": error is None, "how": how, "error": error}
    output.event("offsets_committed", {**told, "invoke_ns": times_ns[0], "complete_ns": times_ns[1]})


def _tell_part(output: Output, records: Sequence[Record], polled_ns: int) -> None:
    places: dict[Place, list[Record]] = {}
    for record in records:
        places.setdefault((record.topic, record.partition), []).append(record)
    columns = [_columns(*place, its) for place, its in places.items()]
    output.event("records_consumed", {"count": len(records), "partitions": columns, "polled_ns": polled_ns})


def _columns(topic: str, partition: int, records: Sequence[Record]) -> dict[str, Any]:
    offsets = [record.offset for record in records]
    epochs = [record.leader_epoch for record in records if record.leader_epoch is not None]
    return {
        "topic": topic,
        "partition": partition,
        "count": len(records),
        "minOffset": min(offsets),
        "maxOffset": max(offsets),
        "offsets": offsets,
        "values": [_text(record.value) for record in records],
        "keys": [_text(record.key) for record in records],
        "leader_epochs": epochs if len(epochs) == len(records) else [],
    }


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="backslashreplace")
