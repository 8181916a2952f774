"""TransactionManager without a transactional.id: the producer's identity, and which sequence number is next.

A broker assigns a producer id and an epoch (InitProducerId). In each partition, every batch gets the next sequence
numbers when it is first drained, and keeps them in all its attempts. A broker can therefore distinguish a repeated
batch from a new one (KIP-98). Three events can break a sequence, and each is handled in one way:

* A sent batch ends with an unknown outcome. The partition is *unresolved* and sends nothing new until its other
  batches are settled. Then it continues if the sequence is unbroken, or the epoch is bumped (PRD-EXP-06).
* A batch fails permanently. Its numbers are missing, so the epoch is bumped (PRD-IDM-13).
* The batch expected next is rejected as out of order. The broker's sequence differs, so the epoch is bumped
  (PRD-IDM-09).

Bumping the epoch needs no broker (KIP-360): the partition's batches are restamped from sequence 0. Other partitions
follow once their own batches are settled (PRD-IDM-10). A batch that may be stored is never restamped, because the
broker would store it again under a new identity. Such a batch is first sent once more under its old identity, to learn
its outcome. (Java restamps at once, and can duplicate a record in this case: the first batch fails permanently, and
the second is stored but its response is lost.)

``transactions/transactional_manager.py`` adds transactions.
"""

from __future__ import annotations

from collections.abc import Sequence

from clients.reference.common.backoff import ExponentialBackoff
from clients.reference.common.requests import ClientResponse
from clients.reference.config.producer_config import ProducerConfig
from clients.reference.metadata.metadata import TopicPartition
from clients.reference.ports import Jitter
from clients.reference.producer.producer_batch import NO_PRODUCER_ID, ProducerBatch, ProducerId
from clients.reference.producer.sequences import PartitionSequences
from clients.reference.states import PRODUCER_ID, ProducerIdEvent, ProducerIdState, SequenceState
from clients.reference.telemetry.trace import ProducerIdAssigned, StateChanged, Trace
from harness.wire.error_table import BY_NAME, KafkaError, error_for

LAST_EPOCH = 2**15 - 1
_OUT_OF_ORDER = BY_NAME["OUT_OF_ORDER_SEQUENCE_NUMBER"].code
_UNKNOWN_PRODUCER = BY_NAME["UNKNOWN_PRODUCER_ID"].code
_FATAL = frozenset(
    BY_NAME[name].code
    for name in (
        "CLUSTER_AUTHORIZATION_FAILED",
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        "PRODUCER_FENCED",
        "UNSUPPORTED_VERSION",
    )
)
#: A missing permission for a producer id. It may be granted later, so the producer asks again (KAFKA-13668).
_REFUSALS = frozenset(
    BY_NAME[name].code for name in ("CLUSTER_AUTHORIZATION_FAILED", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED")
)


class TransactionManager:
    """One producer's identity, and its sequences by partition."""

    partition_sequences: type[PartitionSequences] = PartitionSequences  # a variant of the client replaces it

    def __init__(self, config: ProducerConfig, jitter: Jitter, trace: Trace) -> None:
        self._trace = trace
        self._backoff = ExponentialBackoff(config.retry_backoff_ms, config.retry_backoff_max_ms, jitter)
        self._sequences: dict[TopicPartition, PartitionSequences] = {}
        self._to_restart: dict[TopicPartition, None] = {}
        self._unresolved: dict[TopicPartition, None] = {}
        self._init_attempts = 0
        self._init_at_ms = 0
        self._is_initializing = False
        self.state = PRODUCER_ID.initial
        self.producer_id = NO_PRODUCER_ID
        self.fatal_error: KafkaError | None = None
        self.abortable_error: KafkaError | None = None

    # Identity

    def init_at_ms(self) -> int | None:
        """Return when to request a producer id. None if none is needed, or a request is in flight."""
        wanted = self.state in (ProducerIdState.UNINITIALIZED, ProducerIdState.INITIALIZING)
        return self._init_at_ms if wanted and not self._is_initializing else None

    def initializing(self, now_ms: int) -> None:
        """Record that the request was sent."""
        self._is_initializing = True
        if self.state is ProducerIdState.UNINITIALIZED:
            self._move(ProducerIdEvent.INITIALIZE, now_ms)

    def initialized(self, response: ClientResponse, now_ms: int) -> None:
        """Process the response or the lost connection: an identity, another attempt, or an error (PRD-IDM-01)."""
        self._is_initializing = False
        if response.version_mismatch:
            self.fail_fatally(BY_NAME["UNSUPPORTED_VERSION"], now_ms)
            return
        error = BY_NAME["NETWORK_EXCEPTION"]
        if response.body is not None:
            error = error_for(int(response.body.error_code))
        if error.code == 0 and response.body is not None:
            self._init_attempts = 0
            self._move(ProducerIdEvent.INITIALIZED, now_ms)
            self._assume(ProducerId(response.body.producer_id, response.body.producer_epoch), now_ms)
        elif error.retriable:
            self._back_off(now_ms)
        elif error.code in _REFUSALS:
            self.abortable_error = error
            self._move(ProducerIdEvent.REFUSED, now_ms, error.name)
            self._back_off(now_ms)
        else:
            self.fail_fatally(error, now_ms)

    def _back_off(self, now_ms: int) -> None:
        self._init_at_ms = now_ms + self._backoff.delay_ms(self._init_attempts)
        self._init_attempts += 1

    def batches_were_aborted(self, now_ms: int) -> None:
        """Leave the abortable error, so that a producer id is requested again. Forget the batches that have ended."""
        self.abortable_error = None
        self._move(ProducerIdEvent.BATCHES_ABORTED, now_ms)
        for entry in self._sequences.values():
            for batch in [each for each in entry.in_flight if each.is_done]:
                entry.forget(batch, now_ms)

    def fail_fatally(self, error: KafkaError, now_ms: int) -> None:
        """Enter the fatal state: there will be no producer id. The first error is kept, later ones are ignored."""
        if self.state is not ProducerIdState.FATAL_ERROR:
            self.fatal_error = error
            self._move(ProducerIdEvent.FATAL, now_ms, error.name)

    def _assume(self, producer_id: ProducerId, now_ms: int, *, bumped_locally: bool = False) -> None:
        """Adopt an identity. The partitions that requested it restart at 0, the others follow later."""
        self.producer_id = producer_id
        self._trace(
            ProducerIdAssigned(
                at_ms=now_ms,
                producer_id=producer_id.id,
                producer_epoch=producer_id.epoch,
                bumped_locally=bumped_locally,
            )
        )
        for partition, entry in self._sequences.items():
            if partition in self._to_restart:
                entry.restart(producer_id, now_ms)
            else:
                entry.epoch_was_raised(now_ms)
        self._to_restart.clear()

    @property
    def is_completing(self) -> bool:
        """Whether a transaction is being completed, so that no batch lingers. There is none without transactions."""
        return False

    # Sequences

    def pick(self, queue: Sequence[ProducerBatch]) -> ProducerBatch | None:
        """Return the batch of a partition's queue that may be sent now. None if all must wait for a response."""
        oldest = queue[0]
        if not self.producer_id.is_valid:
            return None
        entry = self._sequences.get(oldest.partition) or self._entry(oldest.partition)
        if entry.state is SequenceState.BUMPED:  # only to learn a batch's outcome, under its old identity
            return next((batch for batch in queue if batch.may_be_stored), None)
        allowed = entry.may_go_again(oldest) if oldest.has_sequence else entry.may_begin_another()
        return oldest if allowed else None

    def next_identity(self, partition: TopicPartition) -> tuple[ProducerId, int]:
        """Return the producer id and base sequence of a partition's next batch, if it is drained now."""
        return self._entry(partition).next_identity(self.producer_id)

    def assign_sequence(self, batch: ProducerBatch, now_ms: int) -> None:
        """Assign the next numbers to a batch that is drained for the first time, permanently (PRD-IDM-02, -03)."""
        self._entry(batch.partition).assign(batch, self.producer_id, now_ms)

    def completed(self, batch: ProducerBatch, now_ms: int) -> None:
        """Record that the broker has stored this batch. This applies even if the batch has expired for the caller."""
        self._entry(batch.partition).acknowledged(batch, now_ms)

    def goes_again(self, batch: ProducerBatch, now_ms: int) -> None:
        """Record that a rejected batch is back in its queue. No newer batch may overtake it (PRD-IDM-07)."""
        if batch.has_sequence:
            self._entry(batch.partition).goes_again(now_ms)

    def was_split(self, batch: ProducerBatch, parts: list[ProducerBatch], now_ms: int) -> None:
        """Replace a batch by its parts, which have its numbers (PRD-SPL-04)."""
        self._entry(batch.partition).replace(batch, parts, now_ms)

    def failed(self, batch: ProducerBatch, error: KafkaError, *, is_definite: bool, now_ms: int) -> None:
        """Record the failure of a batch with a sequence: permanent, or with an unknown outcome (PRD-IDM-13)."""
        entry = self._entry(batch.partition)
        entry.forget(batch, now_ms)
        if error.code in _FATAL:
            self.fail_fatally(error, now_ms)
        elif batch.producer_id != entry.producer_id:
            return  # its sequence has ended already
        elif is_definite:
            self.request_restart(batch.partition, now_ms)
        else:
            entry.is_unresolved(batch, now_ms)
            self._unresolved[batch.partition] = None

    def can_retry(self, batch: ProducerBatch, error: KafkaError, log_start_offset: int, now_ms: int) -> bool:
        """Return whether a rejected batch may be retried. Request an epoch bump if only that lets it succeed.

        A part of a whole that may be stored cannot be retried once nothing older is in flight: its numbers will never
        fit, and under other numbers it may be stored twice.
        """
        if self.state is ProducerIdState.FATAL_ERROR:
            return False
        if error.code == _OUT_OF_ORDER:
            entry = self._entry(batch.partition)
            if batch.doubt_is_the_wholes:
                return not entry.may_go_again(batch)
            if entry.is_broken_at(batch):
                self.request_restart(batch.partition, now_ms)
            return True
        if error.code == _UNKNOWN_PRODUCER:  # PRD-IDM-12
            if log_start_offset >= 0 and not batch.sequence_was_reset:
                self.request_restart(batch.partition, now_ms)
            return True
        return error.retriable

    @staticmethod
    def tells_absence(error: KafkaError) -> bool:
        """Return whether the error means that the broker has none of the last five batches.

        A broker looks for a duplicate before it returns such an error.
        """
        return error.code in (_OUT_OF_ORDER, _UNKNOWN_PRODUCER)

    def request_restart(self, partition: TopicPartition, now_ms: int) -> None:
        """Request a new epoch for this partition. The next ``step`` that may do so bumps it."""
        self._to_restart[partition] = None
        self._entry(partition).is_broken(now_ms)

    def step(self, now_ms: int) -> None:
        """Settle unresolved partitions, and bump the epoch if that was requested."""
        if self._unresolved:
            for partition in list(self._unresolved):
                entry = self._entry(partition)
                if entry.resolve(now_ms):
                    self.request_restart(partition, now_ms)
                if entry.state is not SequenceState.UNRESOLVED:
                    del self._unresolved[partition]
        if self._to_restart and self.state is ProducerIdState.READY and not self._any_in_doubt():
            self._bump_epoch(now_ms)

    def _any_in_doubt(self) -> bool:
        """Return whether a batch to restamp may be stored. Under a second identity, the broker would store it again."""
        return any(
            batch.on_the_wire or batch.may_be_stored
            for partition in self._to_restart
            for batch in self._entry(partition).in_flight
        )

    def _bump_epoch(self, now_ms: int) -> None:
        """Increment the epoch. After the last one, a new producer id must be requested (PRD-IDM-11)."""
        if self.producer_id.epoch == LAST_EPOCH:
            self._move(ProducerIdEvent.EPOCH_EXHAUSTED, now_ms)
            self.producer_id = NO_PRODUCER_ID
            self._init_at_ms = now_ms
            return
        self._assume(ProducerId(self.producer_id.id, self.producer_id.epoch + 1), now_ms, bumped_locally=True)

    def _entry(self, partition: TopicPartition) -> PartitionSequences:
        entry = self._sequences.get(partition)
        if entry is None:
            entry = self.partition_sequences(partition, self.producer_id, self._trace)
            self._sequences[partition] = entry
        return entry

    def _move(self, event: ProducerIdEvent, now_ms: int, detail: str = "") -> None:
        before = self.state
        self.state = PRODUCER_ID.after(before, event)
        self._trace(
            StateChanged(
                at_ms=now_ms,
                machine=PRODUCER_ID.name,
                subject="",
                before=before.told,
                cause=event.told,
                after=self.state.told,
                detail=detail,
            )
        )
