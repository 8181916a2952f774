"""TransactionCoordinator: the transactional ids of all brokers, and the requests and timers that move them on.

The metadata stands for the topic ``__transaction_state``: it survives every broker. When a transactional id gets
another coordinator, that one goes on with its transaction: it waits for the timeout, or it writes all markers.
Simplified on purpose: what is to be stored is stored at once, and timeouts and expiry happen exactly in time. A real
broker looks for them every ten seconds and every hour.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.agenda import AT_ONCE, Timer
from harness.brokers.scripted.answer import NS_PER_MS
from harness.brokers.scripted.apis.coordinators import NO_NODE, TRANSACTION, coordinator
from harness.brokers.scripted.producer_state import BUMPS_FROM_VERSION
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.transactions.ending import EndAsked, may_end_v1, may_end_v2
from harness.brokers.scripted.transactions.markers import Marker, MarkerWriter, Written
from harness.brokers.scripted.transactions.metadata import TopicPartition, TransactionMetadata
from harness.brokers.scripted.transactions.states import AT_REST, TransactionState
from harness.wire.records import NO_PRODUCER_ID

if TYPE_CHECKING:
    from harness.brokers.scripted.state import ClusterState


@dataclass(slots=True)
class _Hosted:
    """A transactional id at its coordinator. ``epoch`` is that of the coordinator, and grows when it moves.

    ``timer`` ends the transaction at its timeout, or writes its markers. ``markers`` is what they are written with.
    """

    metadata: TransactionMetadata
    node_id: int
    epoch: int = 0
    timer: Timer | None = None
    markers: MarkerWriter | None = None

    def cancel(self) -> None:
        """Cancel the timer."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class TransactionCoordinator:
    """The transactional ids of all brokers. Its methods are the requests; ``node_id`` is the broker that was asked."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._hosted: dict[str, _Hosted] = {}
        self._is_checked_later = False

    def metadata(self, transactional_id: str) -> TransactionMetadata | None:
        """Return what is known of a transactional id, or None."""
        hosted = self._hosted.get(transactional_id)
        return None if hosted is None else hosted.metadata

    # Requests. All raise RequestRefused.

    def init_producer_id(
        self, node_id: int, transactional_id: str, timeout_ms: int, expected: tuple[int, int] | None
    ) -> tuple[int, int]:
        """Return a producer id and its epoch. ``expected`` are the ones that the producer has, if any (KIP-360)."""
        hosted, now_ms = self._find(node_id, transactional_id), self._state.now_ms
        if hosted is None:
            new_id = self._state.generate_producer_id(node_id)
            hosted = _Hosted(TransactionMetadata(transactional_id, new_id, timeout_ms, now_ms), node_id)
            self._hosted[transactional_id] = hosted
        known = hosted.metadata
        if known.is_pending:
            raise RequestRefused(ErrorCode.concurrent_transactions)
        if expected is not None and not known.is_valid_producer(*expected):
            raise RequestRefused(ErrorCode.producer_fenced)
        if known.state is TransactionState.ONGOING:
            self._abort(hosted)
            raise RequestRefused(ErrorCode.concurrent_transactions)
        epoch = None if expected is None else expected[1]
        if known.is_exhausted and epoch in (None, known.producer_epoch):
            new_id = self._state.generate_producer_id(node_id)
            known.rotate(new_id, timeout_ms, now_ms, keeps_last=expected is not None)
        else:
            known.increment_epoch(timeout_ms, epoch, now_ms)
        return known.producer_id, known.producer_epoch

    def add_partitions(
        self,
        node_id: int,
        transactional_id: str,
        producer: tuple[int, int],
        partitions: Iterable[TopicPartition],
        version: int,
    ) -> None:
        """Add partitions to the transaction of a producer (id and epoch); the first ones begin it."""
        hosted = self._known(node_id, transactional_id)
        known, added = hosted.metadata, set(partitions)
        if known.is_pending:
            raise RequestRefused(ErrorCode.concurrent_transactions)
        _check_producer(known, producer)
        if known.state is TransactionState.ONGOING and added <= known.partitions:
            return
        known.add(added, version, self._state.now_ms)
        self._plan(hosted)

    def verify_partitions(
        self,
        node_id: int,
        transactional_id: str,
        producer: tuple[int, int],
        partitions: Iterable[TopicPartition],
    ) -> dict[TopicPartition, ErrorCode]:
        """Return of each partition whether the producer has added it to its transaction."""
        known = self._known(node_id, transactional_id).metadata
        _check_producer(known, producer)
        if known.is_pending:
            raise RequestRefused(ErrorCode.concurrent_transactions)
        return {
            each: ErrorCode.none if each in known.partitions else ErrorCode.transaction_abortable
            for each in partitions
        }

    def end(self, node_id: int, transactional_id: str, asked: EndAsked, version: int) -> tuple[int, int]:
        """Commit or abort a transaction. Return the producer id and epoch of the next one."""
        hosted = self._known(node_id, transactional_id)
        known, bumps = hosted.metadata, version >= BUMPS_FROM_VERSION
        if not (may_end_v2 if bumps else may_end_v1)(known, asked):
            return known.producer_id, known.producer_epoch
        is_new_needed = bumps and known.is_exhausted
        next_id = self._state.generate_producer_id(node_id) if is_new_needed else NO_PRODUCER_ID
        known.prepare(version, next_id, self._state.now_ms, commits=asked.commits)
        self._plan(hosted)
        return known.final

    def _known(self, node_id: int, transactional_id: str) -> _Hosted:
        if not transactional_id:
            raise RequestRefused(ErrorCode.invalid_request)
        hosted = self._find(node_id, transactional_id)
        if hosted is None:
            raise RequestRefused(ErrorCode.invalid_producer_id_mapping)
        return hosted

    def _find(self, node_id: int, transactional_id: str) -> _Hosted | None:
        """Return a transactional id that has not expired. Raises RequestRefused if this node does not coordinate it."""
        if self._state.settings.coordinator_load_in_progress:
            raise RequestRefused(ErrorCode.coordinator_load_in_progress)
        if coordinator(self._state, transactional_id, TRANSACTION) != node_id:
            raise RequestRefused(ErrorCode.not_coordinator)
        hosted = self._hosted.get(transactional_id)
        if hosted is None:
            return None
        known, now_ms = hosted.metadata, self._state.now_ms
        lasts_ms = self._state.settings.transactional_id_expiration_ms
        if known.state in AT_REST and known.updated_at_ms <= now_ms - lasts_ms:
            known.move_to(TransactionState.DEAD, now_ms)
            del self._hosted[transactional_id]
            return None
        self._host(hosted, node_id)
        return hosted

    # Timers.

    def _plan(self, hosted: _Hosted) -> None:
        """Set the timer that the state needs."""
        hosted.cancel()
        known, state = hosted.metadata, self._state
        if known.state is TransactionState.ONGOING:
            due_ns = (known.started_at_ms + known.timeout_ms - state.wall_ms_at_zero) * NS_PER_MS
            hosted.timer = state.agenda.at(due_ns, lambda _: self._time_out(hosted), hosted.node_id)
        elif known.is_pending:
            due_ns = state.agenda.now_ns + state.settings.transaction_marker_delay_ms * NS_PER_MS
            hosted.timer = state.agenda.at(due_ns, lambda _: self._write_markers(hosted), hosted.node_id)

    def _time_out(self, hosted: _Hosted) -> None:
        hosted.timer = None
        if self._is_host(hosted):
            self._abort(hosted)

    def _abort(self, hosted: _Hosted) -> None:
        """Fence the producer of a transaction and abort it."""
        hosted.metadata.fence(self._state.settings.transaction_version, self._state.now_ms)
        self._plan(hosted)

    def _write_markers(self, hosted: _Hosted) -> None:
        """Write the markers that can be written. The change of the cluster that allows another one calls this again."""
        hosted.timer = None
        known = hosted.metadata
        if not self._is_host(hosted):
            return
        if hosted.markers is None:
            marker = Marker(
                known.producer_id, known.producer_epoch, known.commits, hosted.epoch, known.version
            )
            hosted.markers = MarkerWriter(self._state, marker)
        written = {hosted.markers.write(each) for each in sorted(known.partitions)}
        if written <= {Written.DONE}:
            known.complete(self._state.now_ms)
            hosted.markers = None

    # Moves.

    def cluster_changed(self) -> None:
        """Look at the transactions as soon as the change of the cluster is complete."""
        if self._hosted and not self._is_checked_later:
            self._is_checked_later = True
            self._state.agenda.at(AT_ONCE, self._check)

    def _check(self, _: int) -> None:
        self._is_checked_later = False
        if self._state.settings.coordinator_load_in_progress:
            return
        for transactional_id, hosted in self._hosted.items():
            node_id = coordinator(self._state, transactional_id, TRANSACTION)
            if node_id != NO_NODE:
                self._host(hosted, node_id)
            if hosted.timer is None:
                if hosted.metadata.is_pending:
                    self._write_markers(hosted)
                else:
                    self._plan(hosted)

    def _host(self, hosted: _Hosted, node_id: int) -> None:
        """Let a node go on with what another one had begun."""
        if hosted.node_id != node_id:
            hosted.node_id, hosted.epoch, hosted.markers = node_id, hosted.epoch + 1, None
            self._plan(hosted)

    def _is_host(self, hosted: _Hosted) -> bool:
        """Return whether the node may act for the transactional id now."""
        is_loading = self._state.settings.coordinator_load_in_progress
        known_id = hosted.metadata.transactional_id
        return not is_loading and coordinator(self._state, known_id, TRANSACTION) == hosted.node_id


def _check_producer(known: TransactionMetadata, producer: tuple[int, int]) -> None:
    if known.producer_id != producer[0]:
        raise RequestRefused(ErrorCode.invalid_producer_id_mapping)
    if known.producer_epoch != producer[1]:
        raise RequestRefused(ErrorCode.producer_fenced)
