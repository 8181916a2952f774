"""PartitionSequences: one partition's sequence numbers, and what may be sent now.

The SEQUENCE table defines the states:

* CLEAN: new batches may be sent.
* RETRYING: a rejected batch is retried. Only the batch with the lowest number may be sent until all retried ones are
  settled (PRD-IDM-07).
* UNRESOLVED: a sent batch ended with an unknown outcome. No new batch is sent until it is known (PRD-EXP-06).
* BUMPED: the sequence is broken. The partition waits for a higher epoch, in which it starts again at 0.
* STALE_EPOCH: another partition bumped the epoch. This partition adopts it once its own batches are settled
  (PRD-IDM-10).
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
    """``in_flight`` are the batches with a sequence and no final state, in sequence order."""

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

    # What may be sent

    @property
    def most_in_flight(self) -> int:
        """As many batches as a broker remembers (PRD-IDM-04), but one until the first of a sequence is acknowledged.

        A broker without state for a producer accepts any sequence. If the first batch were rejected while the second
        is on the wire, the second would be stored first. (franz-go has the same limit, Java does not.)
        """
        return 1 if self.last_acked_sequence == NONE_ACKED else MAX_IN_FLIGHT_IDEMPOTENT

    def may_go_again(self, batch: ProducerBatch) -> bool:
        """Return whether a batch may be retried: only the lowest of those in flight may."""
        return not self.in_flight or self.in_flight[0] is batch

    def may_begin_another(self) -> bool:
        """Return whether a new batch may take the next numbers. Not during a retry or while an outcome is unknown."""
        if self.state is _S.CLEAN:
            return len(self.in_flight) < self.most_in_flight
        return self.state is _S.STALE_EPOCH and not self.in_flight

    def is_next(self, sequence: int) -> bool:
        """Return whether the broker expects this number next, according to its acknowledgements."""
        return increment_sequence(self.last_acked_sequence, 1) == sequence

    def is_broken_at(self, batch: ProducerBatch) -> bool:
        """Return whether the gap before this batch is permanent, after the broker rejected it as out of order.

        The gap closes if an earlier batch is in flight (PRD-IDM-08). It is permanent for the batch expected next, and
        for the first one after a batch with an unknown outcome (PRD-IDM-09).
        """
        if self.unresolved_from is None:
            return self.is_next(batch.base_sequence)
        return self.unresolved_from == batch.base_sequence

    # Events of batches

    def assign(self, batch: ProducerBatch, producer_id: ProducerId, now_ms: int) -> None:
        """Assign the next numbers to a batch that is drained for the first time. They are permanent."""
        if self.state is _S.STALE_EPOCH:
            self.restart(producer_id, now_ms)
        batch.assign_sequence(self.producer_id, self.next_sequence)
        self.next_sequence = increment_sequence(self.next_sequence, batch.record_count)
        self.in_flight.append(batch)

    def next_identity(self, producer_id: ProducerId) -> tuple[ProducerId, int]:
        """Return what ``assign`` would give now."""
        return (producer_id, 0) if self.state is _S.STALE_EPOCH else (self.producer_id, self.next_sequence)

    def goes_again(self, now_ms: int) -> None:
        """Record that a rejected batch waits for a retry under its numbers."""
        if self.state is _S.CLEAN:
            self._move(_E.GOES_AGAIN, now_ms)

    def replace(self, whole: ProducerBatch, parts: list[ProducerBatch], now_ms: int) -> None:
        """Replace a split batch by its parts.

        They have its numbers, so the following batches stay valid (PRD-SPL-04).
        """
        if whole in self.in_flight:
            place = self.in_flight.index(whole)
            self.in_flight[place : place + 1] = parts
            self.goes_again(now_ms)

    def acknowledged(self, batch: ProducerBatch, now_ms: int) -> None:
        """Record that the broker has stored this batch. This applies even if the batch has expired for the caller."""
        if batch.producer_id == self.producer_id and batch.order > self._last_acked:
            self._last_acked = batch.order
            self.last_acked_sequence = batch.last_sequence
        self.forget(batch, now_ms)

    def forget(self, batch: ProducerBatch, now_ms: int) -> None:
        """Remove a batch that has ended. Retrying ends with the last batch that was to be retried."""
        if batch in self.in_flight:
            self.in_flight.remove(batch)
        if self.state is _S.RETRYING and not any(each.goes_again for each in self.in_flight):
            self._move(_E.SETTLED, now_ms)

    def is_unresolved(self, batch: ProducerBatch, now_ms: int) -> None:
        """Record that a sent batch ended with an unknown outcome. The newest such batch decides."""
        if self.unresolved_from is not None and batch.order < self._unresolved:
            return
        self.unresolved_from = increment_sequence(batch.last_sequence, 1)
        self._unresolved = batch.order
        self._trace(SequenceUnresolved(at_ms=now_ms, partition=self.name, next_sequence=self.unresolved_from))
        if self.state in (_S.CLEAN, _S.RETRYING):
            self._move(_E.UNKNOWN_END, now_ms)

    def resolve(self, now_ms: int) -> bool:
        """Resolve the partition once nothing is in flight. Return True if the sequence is broken."""
        if self.state is not _S.UNRESOLVED or self.in_flight:
            return False
        continued = self.is_next(self.next_sequence)
        self.unresolved_from = None
        self._trace(SequenceResolved(at_ms=now_ms, partition=self.name, continued=continued))
        if continued:
            self._move(_E.CONTINUED, now_ms)
        return not continued

    # Events of the sequence

    def is_broken(self, now_ms: int) -> None:
        """Record that the broker lacks some numbers. The partition can continue only in a higher epoch."""
        if self.state is not _S.BUMPED:
            self._move(_E.BROKEN, now_ms)

    def epoch_was_raised(self, now_ms: int) -> None:
        """Record a bump for another partition. This one keeps its epoch until its batches are settled."""
        if self.state not in (_S.BUMPED, _S.STALE_EPOCH):
            self._move(_E.EPOCH_RAISED, now_ms)

    def restart(self, producer_id: ProducerId, now_ms: int) -> None:
        """Start again at 0 under another identity, with the batches in flight in their order."""
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
