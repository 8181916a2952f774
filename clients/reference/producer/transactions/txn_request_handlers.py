"""The requests of transactions, each with its priority, its coordinator, and what its response leaves.

``TransactionalManager`` decides which one is next, by ``Priority`` (PRD-TXN-12), and what an error means. A handler
knows only its own request: how it is built, which errors a response has, and what follows from success.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar

from clients.reference.common.group_offsets import ConsumerGroupMetadata, OffsetAndMetadata
from clients.reference.common.requests import INIT_PRODUCER_ID_HIGHEST, Message
from clients.reference.metadata.topic_metadata import TopicPartition
from clients.reference.ports import Node
from clients.reference.producer.producer_batch import NO_PRODUCER_ID, ProducerId
from clients.reference.producer.transactions import txn_requests
from clients.reference.producer.transactions.transactional_request_result import TransactionalRequestResult
from clients.reference.producer.transactions.txn_requests import GROUP, TRANSACTION, Build, Coordinator
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME, KafkaError, error_for

if TYPE_CHECKING:
    from clients.reference.producer.transactions.transactional_manager import TransactionalManager

_UNKNOWN = BY_NAME["UNKNOWN_SERVER_ERROR"]
_NOT_ANSWERED = BY_NAME["NETWORK_EXCEPTION"]


class Priority(IntEnum):
    """The order of requests that wait. The end of a transaction comes after all that belongs to it."""

    FIND_COORDINATOR = 0
    INIT_PRODUCER_ID = 1
    ADD_PARTITIONS_OR_OFFSETS = 2
    END_TXN = 3
    EPOCH_BUMP = 4


class TxnRequestHandler:
    """One request. ``coordinator`` is who answers it, None for any broker. ``retry_at_ms`` is when it may be sent."""

    api: ClassVar[Api]
    priority: Priority = Priority.ADD_PARTITIONS_OR_OFFSETS
    lowest: int | None = None
    highest: int | None = None

    def __init__(self, coordinator: Coordinator | None, result: TransactionalRequestResult) -> None:
        self.coordinator = coordinator
        self.result = result
        self.retry_at_ms = 0
        self.is_in_doubt = False  # an earlier attempt may have taken effect

    def build(self, manager: TransactionalManager) -> Build:
        """Return a builder of the request, with the producer's current identity."""
        raise NotImplementedError

    def errors(self, body: Message) -> list[KafkaError]:
        """Return the errors of a response, and take over the parts that have succeeded. Empty: all has succeeded."""
        error = error_for(int(body.error_code))
        return [error] if error.code else []

    def succeeded(self, manager: TransactionalManager, body: Message, now_ms: int) -> None:
        """Apply a response without errors."""
        raise NotImplementedError

    def refused(self, manager: TransactionalManager) -> None:
        """Take back what the request was to do, after an error that ends it."""


class FindCoordinatorHandler(TxnRequestHandler):
    """Finds the broker that is ``of``: asked of any broker."""

    api = Api.FIND_COORDINATOR
    priority = Priority.FIND_COORDINATOR
    lowest = txn_requests.FIND_COORDINATOR_LOWEST

    def __init__(self, of: Coordinator) -> None:
        super().__init__(None, TransactionalRequestResult("FindCoordinator"))
        self.of = of
        self._node: Node | None = None

    def build(self, manager: TransactionalManager) -> Build:
        """Ask for the coordinator by its key."""
        return txn_requests.find_coordinator_request(self.of)

    def errors(self, body: Message) -> list[KafkaError]:
        """Return the error, and keep the node that the response names."""
        error, self._node = txn_requests.found_coordinator(body)
        return [error] if error.code else []

    def succeeded(self, manager: TransactionalManager, body: Message, now_ms: int) -> None:
        """Store where the coordinator is."""
        assert self._node is not None
        manager.requests.found(self.of, self._node, now_ms)

    def refused(self, manager: TransactionalManager) -> None:
        """Drop the requests that wait for the coordinator."""
        manager.coordinator_refused(self.of)


class InitProducerIdHandler(TxnRequestHandler):
    """Gets the producer's identity, or raises the epoch of ``known`` (PRD-TXN-01, -16)."""

    api = Api.INIT_PRODUCER_ID
    highest = INIT_PRODUCER_ID_HIGHEST

    def __init__(
        self,
        transactional_id: str,
        timeout_ms: int,
        result: TransactionalRequestResult,
        known: ProducerId = NO_PRODUCER_ID,
    ) -> None:
        super().__init__(Coordinator(TRANSACTION, transactional_id), result)
        self._timeout_ms = timeout_ms
        self._known = known
        self.priority = Priority.EPOCH_BUMP if known.is_valid else Priority.INIT_PRODUCER_ID
        if known.is_valid:
            self.lowest = txn_requests.INIT_PRODUCER_ID_BUMP_LOWEST

    def build(self, manager: TransactionalManager) -> Build:
        """Ask for an identity, or for the next epoch of the known one."""
        return txn_requests.init_transactions_request(manager.transactional_id, self._timeout_ms, self._known)

    def succeeded(self, manager: TransactionalManager, body: Message, now_ms: int) -> None:
        """Adopt the identity."""
        manager.was_initialized(ProducerId(body.producer_id, body.producer_epoch), self.result, now_ms)


class AddPartitionsToTxnHandler(TxnRequestHandler):
    """Adds partitions to the transaction, before anything is produced to them (PRD-TXN-04)."""

    api = Api.ADD_PARTITIONS_TO_TXN
    highest = txn_requests.ADD_PARTITIONS_HIGHEST

    def __init__(self, transactional_id: str, partitions: tuple[TopicPartition, ...]) -> None:
        super().__init__(
            Coordinator(TRANSACTION, transactional_id), TransactionalRequestResult("AddPartitionsToTxn")
        )
        self.partitions = partitions

    def build(self, manager: TransactionalManager) -> Build:
        """Ask to add all partitions in one request."""
        return txn_requests.add_partitions_request(
            manager.transactional_id, manager.producer_id, self.partitions
        )

    def errors(self, body: Message) -> list[KafkaError]:
        """Return the errors of the partitions. One that the response leaves out was not added."""
        answers = txn_requests.add_partitions_errors(body)
        told = [answers.get(partition, _UNKNOWN) for partition in self.partitions]
        return [error for error in told if error.code]

    def succeeded(self, manager: TransactionalManager, body: Message, now_ms: int) -> None:
        """Let the partitions be produced to."""
        manager.transaction.answered(self.partitions, were_added=True)

    def refused(self, manager: TransactionalManager) -> None:
        """Give the partitions up. Those that were added before can still be produced to."""
        manager.transaction.answered(self.partitions, were_added=False)


class AddOffsetsToTxnHandler(TxnRequestHandler):
    """Adds the offsets of a group to the transaction, under the first version of the protocol (PRD-TXN-17)."""

    api = Api.ADD_OFFSETS_TO_TXN

    def __init__(self, transactional_id: str, commit: TxnOffsetCommitHandler) -> None:
        super().__init__(Coordinator(TRANSACTION, transactional_id), commit.result)
        self._commit = commit

    def build(self, manager: TransactionalManager) -> Build:
        """Ask to add the group."""
        return txn_requests.add_offsets_request(
            manager.transactional_id, manager.producer_id, self._commit.group.group_id
        )

    def succeeded(self, manager: TransactionalManager, body: Message, now_ms: int) -> None:
        """Store the offsets next. The call has its result only then."""
        manager.transaction.is_started = True
        manager.requests.add(self._commit)


class TxnOffsetCommitHandler(TxnRequestHandler):
    """Stores a group's offsets as part of the transaction, asked of the group's coordinator (KIP-447)."""

    api = Api.TXN_OFFSET_COMMIT

    def __init__(
        self,
        group: ConsumerGroupMetadata,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        *,
        is_v2: bool,
    ) -> None:
        super().__init__(
            Coordinator(GROUP, group.group_id), TransactionalRequestResult("send_offsets_to_transaction")
        )
        self.group = group
        self.offsets = dict(offsets)
        self.highest = None if is_v2 else txn_requests.TXN_OFFSET_COMMIT_V1_HIGHEST
        if group != ConsumerGroupMetadata(group.group_id):
            self.lowest = txn_requests.TXN_OFFSET_COMMIT_MEMBERS_LOWEST

    def build(self, manager: TransactionalManager) -> Build:
        """Ask to store the offsets that are not stored yet."""
        return txn_requests.txn_offset_commit_request(
            manager.transactional_id, manager.producer_id, self.group, self.offsets
        )

    def errors(self, body: Message) -> list[KafkaError]:
        """Return the errors. Partitions that are stored need not be sent again, those left out are."""
        answers = txn_requests.txn_offset_commit_errors(body)
        told = {partition: answers.get(partition, _NOT_ANSWERED) for partition in self.offsets}
        self.offsets = {
            partition: offset for partition, offset in self.offsets.items() if told[partition].code
        }
        return [told[partition] for partition in self.offsets]

    def succeeded(self, manager: TransactionalManager, body: Message, now_ms: int) -> None:
        """Complete the call: every offset is stored."""
        self.result.done()


class EndTxnHandler(TxnRequestHandler):
    """Commits or aborts the transaction."""

    api = Api.END_TXN
    priority = Priority.END_TXN

    def __init__(
        self, transactional_id: str, result: TransactionalRequestResult, *, committed: bool, is_v2: bool
    ) -> None:
        super().__init__(Coordinator(TRANSACTION, transactional_id), result)
        self.committed = committed
        self.highest = None if is_v2 else txn_requests.END_TXN_V1_HIGHEST

    def build(self, manager: TransactionalManager) -> Build:
        """Ask to end the transaction."""
        return txn_requests.end_txn_request(
            manager.transactional_id, manager.producer_id, committed=self.committed
        )

    def succeeded(self, manager: TransactionalManager, body: Message, now_ms: int) -> None:
        """End the transaction. The second version of the protocol returns the next identity (KIP-890)."""
        next_id = ProducerId(getattr(body, "producer_id", -1), getattr(body, "producer_epoch", -1))
        manager.has_ended(self, next_id, now_ms)
