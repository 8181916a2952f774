"""The offsets at which each leader epoch of a partition began (``LeaderEpochFileCache``, KIP-101 and KIP-320)."""

from __future__ import annotations

from typing import Final, NamedTuple

NO_EPOCH: Final = -1
NO_OFFSET: Final = -1


class EpochStart(NamedTuple):
    """A leader epoch, and the offset of the first record that its leader could append."""

    epoch: int
    start_offset: int


class EpochEnd(NamedTuple):
    """A leader epoch, and the offset after its last record. Both are -1 if they are not known."""

    epoch: int
    end_offset: int


UNDEFINED: Final = EpochEnd(NO_EPOCH, NO_OFFSET)


class LeaderEpochs:
    """The epochs that have records in the log, or could get some: the last one may be empty."""

    def __init__(self) -> None:
        self.starts: list[EpochStart] = []

    def assign(self, epoch: int, start_offset: int) -> None:
        """Let an epoch begin. Epochs that began at this offset or later have no records, and are forgotten."""
        if self.starts and self.starts[-1].epoch >= epoch:
            return
        self.truncate_to(start_offset)
        self.starts.append(EpochStart(epoch, start_offset))

    def truncate_to(self, end_offset: int) -> None:
        """Forget every epoch that began at ``end_offset`` or later."""
        self.starts = [start for start in self.starts if start.start_offset < end_offset]

    def delete_before(self, log_start_offset: int) -> None:
        """Forget every epoch whose records are all before the log's start."""
        before = [start for start in self.starts if start.start_offset < log_start_offset]
        after = [start for start in self.starts if start.start_offset >= log_start_offset]
        if before and not (after and after[0].start_offset == log_start_offset):
            after.insert(0, EpochStart(before[-1].epoch, log_start_offset))
        self.starts = after

    def end_of(self, epoch: int, log_end_offset: int) -> EpochEnd:
        """Return the greatest epoch up to ``epoch`` that the log has, with its end (``endOffsetFor``)."""
        if epoch == NO_EPOCH or not self.starts:
            return UNDEFINED
        if epoch == self.starts[-1].epoch:
            return EpochEnd(epoch, log_end_offset)
        higher = next((start for start in self.starts if start.epoch > epoch), None)
        if higher is None:
            return UNDEFINED
        floor = next((start for start in reversed(self.starts) if start.epoch <= epoch), None)
        return EpochEnd(epoch if floor is None else floor.epoch, higher.start_offset)

    def earliest(self, log_start_offset: int) -> int:
        """Return the epoch of the log's first offset, or NO_EPOCH."""
        if self.starts and self.starts[0].start_offset <= log_start_offset:
            return self.starts[0].epoch
        return NO_EPOCH
