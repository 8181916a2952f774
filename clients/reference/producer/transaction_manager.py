"""TransactionManager, its idempotent part: who we are to the brokers, and which sequence number comes next.

A producer id and an epoch come from a broker (InitProducerId). Per partition every batch gets the next sequence
numbers when it is first drained, and keeps them for all its attempts; so a broker can tell a repeated batch from a
new one (KIP-98). Three things can break the chain, and each has one answer:

* a sent batch ends and nobody knows whether it was stored: the partition is *unresolved*, nothing new goes out until
  its other batches are settled; then the chain continues if it is whole, or the epoch is raised (PRD-EXP-06);
* a batch is refused for good: its numbers are missing, so the epoch is raised (PRD-IDM-13);
* the next expected batch is refused as out of order: the broker's chain differs, so the epoch is raised (PRD-IDM-09).

Raising the epoch needs no broker (KIP-360): the partition's batches are restamped from sequence 0. Other partitions
follow when their own batches are settled (PRD-IDM-10). A batch that may be stored is never restamped, for under a new
identity the broker would store it again: such a batch is first sent once more under its old one, to learn what became
of it. (Java restamps at once, and can duplicate a record here: a first batch refused for good, the second stored but
its answer lost.)

Transactions will add their states to the same class; the sequence rules stay.
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


class TransactionManager:
    """One producer's identity and its sequences by partition."""

    partition_sequences: type[PartitionSequences] = PartitionSequences  # a variant of the client swaps it

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

    # the identity

    def init_at_ms(self) -> int | None:
        """When to ask for a producer id; None where there is no need, or the question is on its way."""
        wanted = self.state in (ProducerIdState.UNINITIALIZED, ProducerIdState.INITIALIZING)
        return self._init_at_ms if wanted and not self._is_initializing else None

    def initializing(self, now_ms: int) -> None:
        """The question is asked."""
        self._is_initializing = True
        if self.state is ProducerIdState.UNINITIALIZED:
            self._move(ProducerIdEvent.INITIALIZE, now_ms)

    def initialized(self, response: ClientResponse, now_ms: int) -> None:
        """A broker answered, or the connection was lost: an identity, another try, or the end (PRD-IDM-01)."""
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
            self._init_at_ms = now_ms + self._backoff.delay_ms(self._init_attempts)
            self._init_attempts += 1
        else:
            self.fail_fatally(error, now_ms)

    def fail_fatally(self, error: KafkaError, now_ms: int) -> None:
        """No producer id will come any more; the first error stands, later ones are ignored."""
        if self.state is not ProducerIdState.FATAL_ERROR:
            self.fatal_error = error
            self._move(ProducerIdEvent.FATAL, now_ms, error.name)

    def _assume(self, producer_id: ProducerId, now_ms: int, *, bumped_locally: bool = False) -> None:
        """Take an identity on: the partitions that asked for it begin at 0 under it, the others follow."""
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

    # the sequences

    def pick(self, queue: Sequence[ProducerBatch]) -> ProducerBatch | None:
        """Which batch of a partition's queue may go out now; None: nothing may, until an answer comes."""
        oldest = queue[0]
        if not self.producer_id.is_valid:
            return None
        entry = self._sequences.get(oldest.partition) or self._entry(oldest.partition)
        if entry.state is SequenceState.BUMPED:  # only to learn what became of one, under its old identity
            return next((batch for batch in queue if batch.may_be_stored), None)
        allowed = entry.may_go_again(oldest) if oldest.has_sequence else entry.may_begin_another()
        return oldest if allowed else None

    def next_identity(self, partition: TopicPartition) -> tuple[ProducerId, int]:
        """The producer id and base sequence of a partition's next batch, if it is drained now."""
        return self._entry(partition).next_identity(self.producer_id)

    def assign_sequence(self, batch: ProducerBatch, now_ms: int) -> None:
        """A batch is drained for the first time: the next numbers are its own, for good (PRD-IDM-02, -03)."""
        self._entry(batch.partition).assign(batch, self.producer_id, now_ms)

    def completed(self, batch: ProducerBatch, now_ms: int) -> None:
        """The broker has this batch; news even where the batch had expired for the caller."""
        self._entry(batch.partition).acknowledged(batch, now_ms)

    def goes_again(self, batch: ProducerBatch, now_ms: int) -> None:
        """A batch was refused and is back in its queue: nothing younger may overtake it (PRD-IDM-07)."""
        if batch.has_sequence:
            self._entry(batch.partition).goes_again(now_ms)

    def was_split(self, batch: ProducerBatch, parts: list[ProducerBatch], now_ms: int) -> None:
        """A batch was replaced by its parts, which have its numbers (PRD-SPL-04)."""
        self._entry(batch.partition).replace(batch, parts, now_ms)

    def failed(self, batch: ProducerBatch, error: KafkaError, *, is_definite: bool, now_ms: int) -> None:
        """A batch with a sequence ended badly: for good, or without anybody knowing (PRD-IDM-13)."""
        entry = self._entry(batch.partition)
        entry.forget(batch, now_ms)
        if error.code in _FATAL:
            self.fail_fatally(error, now_ms)
        elif batch.producer_id != entry.producer_id:
            return  # its chain has ended already
        elif is_definite:
            self.request_restart(batch.partition, now_ms)
        else:
            entry.is_unresolved(batch, now_ms)
            self._unresolved[batch.partition] = None

    def can_retry(self, batch: ProducerBatch, error: KafkaError, log_start_offset: int, now_ms: int) -> bool:
        """May a refused batch be sent again? Asks for an epoch bump where only that lets it succeed.

        A part whose whole may be stored cannot, once nothing older is on its way: under its numbers it will never
        fit, under others it may be stored twice.
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
        """A broker looks for a duplicate before it says one of these: so it has none of the last five batches."""
        return error.code in (_OUT_OF_ORDER, _UNKNOWN_PRODUCER)

    def request_restart(self, partition: TopicPartition, now_ms: int) -> None:
        """This partition needs a new epoch; it is raised by the next ``step`` that may."""
        self._to_restart[partition] = None
        self._entry(partition).is_broken(now_ms)

    def step(self, now_ms: int) -> None:
        """Settle what is unresolved and raise the epoch where it was asked for."""
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
        """A batch that may be stored must not get a second identity: the broker could not tell it is the same."""
        return any(
            batch.on_the_wire or batch.may_be_stored
            for partition in self._to_restart
            for batch in self._entry(partition).in_flight
        )

    def _bump_epoch(self, now_ms: int) -> None:
        """One epoch further; at the last one a new producer id must be asked for (PRD-IDM-11)."""
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
