"""What a broker asks the coordinator before it appends the first batch of a transaction to a partition (KIP-890).

Older requests are about partitions that the producer has added to its transaction: the broker verifies that. From
Produce 12 and TxnOffsetCommit 5 on, it adds them itself. Errors of the coordinator become errors that a client of that
version understands (``AddPartitionsToTxnManager``, ``ReplicaManager#handleProduceAppend``).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, NamedTuple

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.apis.coordinators import NO_NODE, TRANSACTION, coordinator
from harness.brokers.scripted.producer_state import BUMPS_FROM_VERSION, ProducerStateManager
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.transactions.metadata import TopicPartition

if TYPE_CHECKING:
    from harness.brokers.scripted.state import ClusterState

#: Errors for which older clients would not retry as they should.
UNVERIFIABLE: Final = frozenset(
    {
        ErrorCode.network_exception,
        ErrorCode.coordinator_load_in_progress,
        ErrorCode.coordinator_not_available,
        ErrorCode.not_coordinator,
    }
)


class Support(Enum):
    """What the version of a request implies (``TransactionSupportedOperation``)."""

    DEFAULT_ERROR = auto()
    GENERIC_ERROR = auto()
    ADD_PARTITION = auto()

    @property
    def adds(self) -> bool:
        """True if the broker adds partitions to the transaction."""
        return self is Support.ADD_PARTITION


class Writer(NamedTuple):
    """The transactional id, producer id and epoch of a request."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


class First(NamedTuple):
    """A batch for a partition: the producers that the partition knows, and the batch's first sequence."""

    producer_state: ProducerStateManager
    sequence: int


def admit(
    state: ClusterState,
    node_id: int,
    writer: Writer,
    batches: Mapping[TopicPartition, First],
    support: Support,
) -> dict[TopicPartition, ErrorCode]:
    """Return the errors of the batches that may not be appended. ``node_id`` is the broker that asks."""
    refused: dict[TopicPartition, ErrorCode] = {}
    asked: list[TopicPartition] = []
    for partition, first in batches.items():
        try:
            if first.producer_state.begin_verification(
                writer.producer_id,
                writer.producer_epoch,
                first.sequence,
                adds=support.adds,
                by_epoch=state.release.verifies_epochs,
            ):
                asked.append(partition)
        except RequestRefused as early:
            refused[partition] = early.code
    if asked:
        refused |= _ask(state, node_id, writer, asked, support)
    return refused


def _ask(
    state: ClusterState, node_id: int, writer: Writer, partitions: list[TopicPartition], support: Support
) -> dict[TopicPartition, ErrorCode]:
    transactional_id, producer = writer.transactional_id, (writer.producer_id, writer.producer_epoch)
    host = coordinator(state, transactional_id, TRANSACTION)
    try:
        if host == NO_NODE:
            raise RequestRefused(ErrorCode.coordinator_not_available)
        if host != node_id and state.nodes[host].paused_until_ns is not None:
            raise RequestRefused(ErrorCode.network_exception)
        if support.adds:
            state.transactions.add_partitions(
                host, transactional_id, producer, partitions, BUMPS_FROM_VERSION
            )
            return {}
        found = state.transactions.verify_partitions(host, transactional_id, producer, partitions)
    except RequestRefused as refused:
        found = dict.fromkeys(partitions, refused.code)
    return {each: _understood(code, support) for each, code in found.items() if code is not ErrorCode.none}


def _understood(code: ErrorCode, support: Support) -> ErrorCode:
    if code is ErrorCode.producer_fenced:
        return ErrorCode.invalid_producer_epoch
    if code is ErrorCode.transaction_abortable and support is Support.DEFAULT_ERROR:
        return ErrorCode.invalid_txn_state
    return code
