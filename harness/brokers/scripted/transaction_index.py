"""A partition's transactions: those that are open, which hold the last stable offset back, and those that were aborted.

They follow ``ProducerStateManager#firstUnstableOffset`` and ``TransactionIndex`` (KIP-98).
"""

from __future__ import annotations

from typing import NamedTuple

from harness.wire.records import BatchHeader


class AbortedTransaction(NamedTuple):
    """An aborted transaction, from its first record to its marker, and the last stable offset after it."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    """The transactions of one partition's log."""

    def __init__(self) -> None:
        self.aborted: list[AbortedTransaction] = []
        self._open: dict[int, int] = {}
        #: Ended transactions (first offset, marker offset). They are unstable until their marker is committed.
        self._ended: list[tuple[int, int]] = []

    def append(self, header: BatchHeader, base_offset: int, *, aborts: bool | None) -> None:
        """Note a batch with a producer id. ``aborts`` is None unless it is the end marker of a transaction."""
        if not header.is_transactional:
            return
        if aborts is None:
            self._open.setdefault(header.producer_id, base_offset)
            return
        first_offset = self._open.pop(header.producer_id, None)
        if first_offset is None:
            return
        self._ended.append((first_offset, base_offset))
        if aborts:
            stable = min(self._open.values(), default=base_offset + 1)
            self.aborted.append(AbortedTransaction(header.producer_id, first_offset, base_offset, stable))

    def first_unstable_offset(self, high_watermark: int) -> int | None:
        """Return where the first transaction begins that is open, or whose end is not committed to all replicas."""
        self._ended = [ended for ended in self._ended if ended[1] >= high_watermark]
        return min([*self._open.values(), *[first for first, _ in self._ended]], default=None)

    def between(self, fetch_offset: int, upper_offset: int) -> list[AbortedTransaction]:
        """Return the aborted transactions that a reader of these offsets has to know."""
        found = []
        for aborted in self.aborted:
            if aborted.last_offset >= fetch_offset and aborted.first_offset < upper_offset:
                found.append(aborted)
            if aborted.last_stable_offset >= upper_offset:
                break
        return found
