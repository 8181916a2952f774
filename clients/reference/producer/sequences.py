"""PartitionSequences: one partition's chain of sequence numbers, and what may be sent under it now.

The SEQUENCE table says which states there are: CLEAN, new batches go; RETRYING, one that was refused goes again, and
only the lowest number goes until all such are settled (PRD-IDM-07); UNRESOLVED, a sent batch ended and nobody knows
whether it was stored, so nothing new goes until that is known (PRD-EXP-06); BUMPED, the chain is broken and waits for
a higher epoch, under which it begins at 0; STALE_EPOCH, another partition raised the epoch, which this one follows
when its own batches are settled (PRD-IDM-10).
"""

from __future__ import annotations

from clients.reference.config.producer_config import MAX_IN_FLIGHT_IDEMPOTENT
from clients.reference.metadata.metadata import TopicPartition
from clients.reference.producer.producer_batch import Order, ProducerBatch, ProducerId
from clients.reference.states import SEQUENCE, SequenceEvent, SequenceState
from clients.reference.telemetry.trace import (
    SequenceResolved,
    SequencesRestarted,
    SequenceUnresolved,
    StateChanged,
    Trace,
)
from harness.wire.records import increment_sequence

NONE_ACKED = -1
_S, _E = SequenceState, SequenceEvent


class PartitionSequences:
    """``in_flight`` are the batches that have a sequence and no final state, in the order of their numbers."""

    def __init__(self, partition: TopicPartition, producer_id: ProducerId, trace: Trace) -> None:
        self.name = f"{partition[0]}-{partition[1]}"
        self.state = SEQUENCE.initial
        self.producer_id = producer_id
        self.next_sequence = 0
        self.last_acked_sequence = NONE_ACKED
        self.unresolved_from: int | None = None
        self.in_flight: list[ProducerBatch] = []
        self._last_acked: Order = ()
        self._unresolved: Order = ()
        self._trace = trace

    # what may go

    @property
    def most_in_flight(self) -> int:
        """As many as a broker remembers (PRD-IDM-04); but one until the first of a chain is acknowledged.

        A broker without state of a producer takes any sequence: were the first batch refused and the second one
        on its way, the second would be stored before it. (franz-go holds back like this, Java does not.)
        """
        return 1 if self.last_acked_sequence == NONE_ACKED else MAX_IN_FLIGHT_IDEMPOTENT

    def may_go_again(self, batch: ProducerBatch) -> bool:
        """A batch that has its numbers goes only as the lowest of those in flight."""
        return not self.in_flight or self.in_flight[0] is batch

    def may_begin_another(self) -> bool:
        """May a batch be given the next numbers? Not while one goes again, or a fate is unknown."""
        if self.state is _S.CLEAN:
            return len(self.in_flight) < self.most_in_flight
        return self.state is _S.STALE_EPOCH and not self.in_flight

    def is_next(self, sequence: int) -> bool:
        """Is this the number that the broker expects, as far as we were told?"""
        return increment_sequence(self.last_acked_sequence, 1) == sequence

    def is_broken_at(self, batch: ProducerBatch) -> bool:
        """The broker refused this batch as out of order: will the gap before it never close by itself?

        It will while an earlier batch is on its way (PRD-IDM-08); it will not for the next that is expected, nor for
        the first behind a batch whose fate is unknown (PRD-IDM-09).
        """
        if self.unresolved_from is None:
            return self.is_next(batch.base_sequence)
        return self.unresolved_from == batch.base_sequence

    # what happens to batches

    def assign(self, batch: ProducerBatch, producer_id: ProducerId, now_ms: int) -> None:
        """A batch is drained for the first time: the next numbers are its own, for good."""
        if self.state is _S.STALE_EPOCH:
            self.restart(producer_id, now_ms)
        batch.assign_sequence(self.producer_id, self.next_sequence)
        self.next_sequence = increment_sequence(self.next_sequence, batch.record_count)
        self.in_flight.append(batch)

    def next_identity(self, producer_id: ProducerId) -> tuple[ProducerId, int]:
        """What ``assign`` would give now."""
        return (producer_id, 0) if self.state is _S.STALE_EPOCH else (self.producer_id, self.next_sequence)

    def goes_again(self, now_ms: int) -> None:
        """A batch was refused and waits for another attempt under its numbers."""
        if self.state is _S.CLEAN:
            self._move(_E.GOES_AGAIN, now_ms)

    def replace(self, whole: ProducerBatch, parts: list[ProducerBatch], now_ms: int) -> None:
        """A batch was split: its parts have its numbers, so what is behind it stays right (PRD-SPL-04)."""
        if whole in self.in_flight:
            place = self.in_flight.index(whole)
            self.in_flight[place : place + 1] = parts
            self.goes_again(now_ms)

    def acknowledged(self, batch: ProducerBatch, now_ms: int) -> None:
        """The broker has this batch; news even where the batch had expired for the caller."""
        if batch.producer_id == self.producer_id and batch.order > self._last_acked:
            self._last_acked = batch.order
            self.last_acked_sequence = batch.last_sequence
        self.forget(batch, now_ms)

    def forget(self, batch: ProducerBatch, now_ms: int) -> None:
        """A batch is out of the chain's way; with the last one that had to go again, retrying is over."""
        if batch in self.in_flight:
            self.in_flight.remove(batch)
        if self.state is _S.RETRYING and not any(each.goes_again for each in self.in_flight):
            self._move(_E.SETTLED, now_ms)

    def is_unresolved(self, batch: ProducerBatch, now_ms: int) -> None:
        """A sent batch ended without a known outcome; the youngest such one is what decides."""
        if self.unresolved_from is not None and batch.order < self._unresolved:
            return
        self.unresolved_from = increment_sequence(batch.last_sequence, 1)
        self._unresolved = batch.order
        self._trace(SequenceUnresolved(at_ms=now_ms, partition=self.name, next_sequence=self.unresolved_from))
        if self.state in (_S.CLEAN, _S.RETRYING):
            self._move(_E.UNKNOWN_END, now_ms)

    def resolve(self, now_ms: int) -> bool:
        """With nothing in flight any more: the chain is whole, or True where it is broken."""
        if self.state is not _S.UNRESOLVED or self.in_flight:
            return False
        continued = self.is_next(self.next_sequence)
        self.unresolved_from = None
        self._trace(SequenceResolved(at_ms=now_ms, partition=self.name, continued=continued))
        if continued:
            self._move(_E.CONTINUED, now_ms)
        return not continued

    # what happens to the chain

    def is_broken(self, now_ms: int) -> None:
        """Numbers are missing at the broker: only a higher epoch lets the partition go on."""
        if self.state is not _S.BUMPED:
            self._move(_E.BROKEN, now_ms)

    def epoch_was_raised(self, now_ms: int) -> None:
        """Another partition needed it; this one stays with its epoch until its batches are settled."""
        if self.state not in (_S.BUMPED, _S.STALE_EPOCH):
            self._move(_E.EPOCH_RAISED, now_ms)

    def restart(self, producer_id: ProducerId, now_ms: int) -> None:
        """Begin again at 0: what is in flight, in order, under another identity."""
        self.producer_id = producer_id
        self.next_sequence, self.last_acked_sequence, self.unresolved_from = 0, NONE_ACKED, None
        self._last_acked = self._unresolved = ()
        self._move(_E.RESTARTED, now_ms)
        for batch in self.in_flight:
            batch.restart_sequence(producer_id, self.next_sequence)
            self.next_sequence = increment_sequence(self.next_sequence, batch.record_count)
        self._trace(
            SequencesRestarted(
                at_ms=now_ms,
                partition=self.name,
                producer_epoch=producer_id.epoch,
                rewritten_batches=len(self.in_flight),
            )
        )
        if self.in_flight:
            self.goes_again(now_ms)

    def _move(self, event: SequenceEvent, now_ms: int) -> None:
        before = self.state
        self.state = SEQUENCE.after(before, event)
        self._trace(
            StateChanged(
                at_ms=now_ms,
                machine=SEQUENCE.name,
                subject=self.name,
                before=before.told,
                cause=event.told,
                after=self.state.told,
            )
        )
