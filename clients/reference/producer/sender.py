"""Sender: sends ready batches to the brokers and decides what each response means.

One ``step`` settles the producer id, ends expired batches, drains ready ones and sends them, one request per node. The
responses arrive in ``poll`` of the NetworkClient and are processed here, batch by batch: stored, retried, split, or
ended (PRD-SND, PRD-SPL). Every such decision is a small method.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from clients.reference.common.earliest import earliest
from clients.reference.common.requests import (
    PRODUCE_BY_NAME_HIGHEST,
    PRODUCE_LOWEST,
    ClientRequest,
    ClientResponse,
    PartitionData,
    PartitionResponse,
    partition_responses,
    produce_request,
)
from clients.reference.config.producer_config import ProducerConfig
from clients.reference.errors import SendError
from clients.reference.metadata.leadership import Leadership
from clients.reference.metadata.metadata import Metadata, TopicPartition
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer import batch_errors, batch_events
from clients.reference.producer.init_producer_id import InitProducerIdHandler
from clients.reference.producer.producer_batch import NO_OFFSET, NO_TIMESTAMP, ProducerBatch
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.reference.producer.transaction_manager import TransactionManager
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.reference.producer.transactions.transactional_requests import TransactionalRequests
from clients.reference.producer.transactions.txn_requests import PRODUCE_V1_HIGHEST
from clients.reference.states import ProducerIdState
from clients.reference.telemetry.trace import CallbackFailed, Trace
from harness.model.verdicts import Outcome
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME, KafkaError, error_for

_HAS_IDENTITY = ProducerIdState.READY
Done = Callable[[ProducerBatch], None]
Batches = dict[TopicPartition, ProducerBatch]


class Sender:
    """Sends batches. ``done`` is called with every batch that has taken its final state."""

    def __init__(
        self,
        config: ProducerConfig,
        client: NetworkClient,
        metadata: Metadata,
        accumulator: RecordAccumulator,
        transactions: TransactionManager | None,
        trace: Trace,
        done: Done,
    ) -> None:
        self._config = config
        self._client = client
        self._metadata = metadata
        self._accumulator = accumulator
        self._transactions = transactions
        self._trace = trace
        self._done = done
        self._in_flight: dict[ProducerBatch, None] = {}
        self._expiry_ms: int | None = None  # no batch expires earlier; None if unknown
        self._leadership = Leadership(metadata)
        self._init_producer_id = InitProducerIdHandler(config, client, transactions) if transactions else None
        self._transactional = transactions if isinstance(transactions, TransactionalManager) else None
        self._requests = (
            TransactionalRequests(config, client, self._transactional) if self._transactional else None
        )

    def step(self, now_ms: int) -> int | None:
        """Do everything that is possible now.

        Return the time of the next check, or None if only the network can change anything.
        """
        identity_ms = self._settle_identity(self._transactions, now_ms) if self._transactions else None
        if not (self._in_flight or self._accumulator.has_queued()):
            self._expiry_ms = None
            return identity_ms
        self._expire_due(now_ms)
        data_ms = self._send_producer_data(now_ms)
        self._expiry_ms = self._next_expiry_ms()
        return earliest(identity_ms, data_ms, self._expiry_ms)

    def _settle_identity(self, transactions: TransactionManager, now_ms: int) -> int | None:
        transactions.step(now_ms)
        if self._transactional:
            self._expire_due(now_ms)
        fatal = transactions.fatal_error
        if fatal:
            self.abort_all(lambda batch: batch_errors.cannot_go_on(fatal, batch), now_ms)
            return None
        refused = transactions.abortable_error
        if refused:
            self.abort_all(lambda batch: batch_errors.without_identity(refused, batch), now_ms)
            transactions.batches_were_aborted(now_ms)
        if self._transactional and self._requests:
            if self._transactional.transaction.is_ending_badly:
                self.abort_undrained(batch_errors.transaction_aborted, now_ms)
            return self._requests.maybe_send(self._accumulator.has_incomplete(), now_ms)
        if transactions.state is _HAS_IDENTITY or self._init_producer_id is None:
            return None
        return self._init_producer_id.maybe_ask(now_ms)

    # Sending

    def _send_producer_data(self, now_ms: int) -> int | None:
        """Send requests as long as a node can accept one."""
        while True:
            ready = self._accumulator.ready(now_ms)
            for topic in ready.unknown_leader_topics:
                self._metadata.add(topic, now_ms)
                self._metadata.request_update()
            if not ready.nodes:
                return ready.next_check_ms
            sendable, usable_ms = self._usable_nodes(ready.nodes, now_ms)
            if not self._drain(sendable, now_ms):
                return earliest(ready.next_check_ms, usable_ms)

    def _drain(self, nodes: list[int], now_ms: int) -> bool:
        """Send one request to each of these nodes that has batches. Return False if there are none."""
        drained = self._accumulator.drain(nodes, now_ms) if nodes else {}
        for node_id, batches in drained.items():
            for batch in batches:
                self._in_flight[batch] = None
                if self._config.guarantee_message_order:
                    self._accumulator.mute(batch.partition)
            self._send_produce_request(node_id, batches, now_ms)
        return bool(drained)

    def _usable_nodes(self, nodes: set[int], now_ms: int) -> tuple[list[int], int | None]:
        """Return the nodes that can accept a request, and when the first of the others may (PRD-ACC-13).

        The former do not wait for the latter.
        """
        sendable: list[int] = []
        usable_ms: int | None = None
        for node_id in sorted(nodes):
            can_drain = self._client.ready(node_id, now_ms)
            self._accumulator.latencies.looked_at(node_id, now_ms, can_drain=can_drain)
            if can_drain:
                sendable.append(node_id)
            else:
                usable_ms = earliest(usable_ms, self._client.usable_at_ms(node_id, now_ms))
        return sendable, usable_ms

    def _send_produce_request(self, node_id: int, batches: list[ProducerBatch], now_ms: int) -> None:
        """Send one request with one batch per partition. It uses topic ids if every topic has one (PRD-SND-15)."""
        data = []
        for batch in batches:
            topic, partition = batch.partition
            batch.topic_id = self._metadata.topic_id(topic)
            data.append(PartitionData(topic, batch.topic_id, partition, batch.payload()))
        by_partition = {batch.partition: batch for batch in batches}
        request = ClientRequest(
            node_id,
            Api.PRODUCE,
            produce_request(
                data,
                acks=self._config.acks,
                timeout_ms=self._config.request_timeout_ms,
                transactional_id=self._config.transactional_id,
            ),
            partial(self._handle_produce_response, by_partition),
            timeout_ms=self._config.request_timeout_ms,
            expects_response=self._config.acks != 0,
            lowest=PRODUCE_LOWEST,
            highest=self._highest_produce(data),
        )
        if self._client.send(request, now_ms):
            for batch in batches:
                self._sent(batch, node_id, now_ms)

    def _highest_produce(self, data: list[PartitionData]) -> int | None:
        """Return the highest version of Produce for this content and for the version of the transaction protocol."""
        if self._transactional and not self._transactional.is_v2:
            return PRODUCE_V1_HIGHEST
        return None if all(item.topic_id for item in data) else PRODUCE_BY_NAME_HIGHEST

    def _sent(self, batch: ProducerBatch, node_id: int, now_ms: int) -> None:
        batch.was_sent = batch.on_the_wire = True
        self._trace(batch_events.sent(batch, node_id, now_ms))

    # Responses

    def _handle_produce_response(self, batches: Batches, response: ClientResponse, now_ms: int) -> None:
        """Process each partition separately (PRD-SND-04). Release batches that expired during the request."""
        answers = self._answers(batches, response, now_ms)
        self._leadership.learn(answers, response.body, now_ms)
        for batch in batches.values():
            batch.on_the_wire = False
            if batch.is_done:
                self._let_go(batch)
        for partition, batch in batches.items():
            if partition in answers:
                self._complete_batch(batch, answers[partition], now_ms)
            else:  # PRD-SND-05: the outcome is unknown, and only the delivery timeout ends the batch
                batch.attempt_ended(BY_NAME["UNKNOWN_SERVER_ERROR"])

    def _answers(
        self, batches: Batches, response: ClientResponse, now_ms: int
    ) -> dict[TopicPartition, PartitionResponse]:
        """Return each batch's result from the response, or from its absence."""
        if response.disconnected:
            return self._answer_all(batches, self._error_of_lost_request(response))
        if response.version_mismatch:
            error = BY_NAME["UNSUPPORTED_VERSION"]
            return self._answer_all(batches, error, response.version_mismatch)
        if response.body is None:
            return self._answer_all(batches, error_for(0))
        answers = {}
        names = {batch.topic_id: batch.partition[0] for batch in batches.values() if batch.topic_id}
        for answer in partition_responses(response.body, names):
            if (answer.topic, answer.partition) in batches:
                answers[answer.topic, answer.partition] = answer
            else:
                what = f"it contains {answer.topic}-{answer.partition}, which was not in the request"
                self._trace(CallbackFailed(at_ms=now_ms, who="Produce response", what=what))
        return answers

    def _error_of_lost_request(self, response: ClientResponse) -> KafkaError:
        """NET-TMO-03: request timeouts and lost connections are distinct errors, and both are retriable."""
        return BY_NAME["REQUEST_TIMED_OUT" if response.timed_out else "NETWORK_EXCEPTION"]

    def _answer_all(
        self, batches: Batches, error: KafkaError, message: str | None = None
    ) -> dict[TopicPartition, PartitionResponse]:
        return {
            partition: PartitionResponse(*partition, error.code, error_message=message)
            for partition in batches
        }

    def _complete_batch(self, batch: ProducerBatch, answer: PartitionResponse, now_ms: int) -> None:
        """Decide what happens to a batch: stored, split, retried, or failed."""
        error = error_for(answer.error_code)
        if error.code == 0 or error.name == "DUPLICATE_SEQUENCE_NUMBER":
            self._succeed_batch(batch, answer, now_ms)
        elif self._can_split(batch, error, now_ms):
            self._split_batch(batch, now_ms)
        elif self._can_retry(batch, error, answer, now_ms):
            absent = self._transactions is not None and self._transactions.tells_absence(error)
            batch.attempt_ended(error, tells_absence=absent)
            self._reenqueue_batch(batch, error, now_ms)
        else:
            self._fail_batch(batch, error, answer, now_ms)
        if error.invalid_metadata:
            self._metadata.request_update()

    def _can_split(self, batch: ProducerBatch, error: KafkaError, now_ms: int) -> bool:
        """PRD-SPL-01, -02, -03: a batch can be split if it has several records and has not expired."""
        too_large = error.name == "MESSAGE_TOO_LARGE" and batch.record_count > 1
        return too_large and not batch.is_done and not batch.has_expired(now_ms)

    def _split_batch(self, batch: ProducerBatch, now_ms: int) -> None:
        """Replace the batch with smaller ones, without a delay and without counting it as a retry."""
        parts = self._accumulator.split_and_reenqueue(batch, now_ms)
        if self._transactions and batch.has_sequence:
            self._transactions.was_split(batch, parts, now_ms)
        del self._in_flight[batch]
        self._let_go(batch)

    def _can_retry(
        self, batch: ProducerBatch, error: KafkaError, answer: PartitionResponse, now_ms: int
    ) -> bool:
        if batch.is_done or batch.attempts >= self._config.retries or batch.has_expired(now_ms):
            return False
        if self._transactions:
            return self._transactions.can_retry(batch, error, answer.log_start_offset, now_ms)
        return error.retriable

    def _reenqueue_batch(self, batch: ProducerBatch, error: KafkaError, now_ms: int) -> None:
        del self._in_flight[batch]
        self._accumulator.unmute(batch.partition)
        self._accumulator.reenqueue(batch, now_ms)
        if self._transactions:
            self._transactions.goes_again(batch, now_ms)
        self._trace(batch_events.retried(batch, error, now_ms))

    def _succeed_batch(self, batch: ProducerBatch, answer: PartitionResponse, now_ms: int) -> None:
        """Complete the batch. A duplicate that the broker no longer remembers has no offset (PRD-IDM-06)."""
        duplicate = answer.error_code != 0
        offset = NO_OFFSET if duplicate else answer.base_offset
        if self._transactions:
            self._transactions.completed(batch, now_ms)
        if batch.succeed(offset, NO_TIMESTAMP if duplicate else answer.log_append_time_ms, now_ms):
            self._end(batch)

    def _fail_batch(
        self, batch: ProducerBatch, error: KafkaError, answer: PartitionResponse, now_ms: int
    ) -> None:
        failure = batch_errors.refused(batch, error, answer)
        self._finish_badly(batch, error, failure, now_ms, batch_errors.by_record(batch, failure, answer))

    # Expiry

    def _expire_due(self, now_ms: int) -> None:
        """Look for expired batches, unless it is known that none has expired."""
        if self._expiry_ms is None or self._expiry_ms <= now_ms:
            self._expire(now_ms)

    def _expire(self, now_ms: int) -> None:
        """End expired batches. Those in flight go first, since they are older (PRD-EXP-02)."""
        in_flight = [batch for batch in self._in_flight if batch.has_expired(now_ms)]
        for batch in in_flight + self._accumulator.take_expired(now_ms):
            self._expire_batch(batch, now_ms)

    def _expire_batch(self, batch: ProducerBatch, now_ms: int) -> None:
        self._trace(batch_events.expired(batch, now_ms, was_in_flight=batch in self._in_flight))
        failure = batch_errors.expired(batch, now_ms)
        self._finish_badly(batch, BY_NAME["REQUEST_TIMED_OUT"], failure, now_ms)

    def _next_expiry_ms(self) -> int | None:
        """Return when the next batch expires, in a queue or in flight (PRD-EXP-05)."""
        first_ms = self._accumulator.next_expiry_ms()
        for batch in self._in_flight:
            if first_ms is None or batch.expires_ms < first_ms:
                first_ms = batch.expires_ms
        return first_ms

    # Ends of batches

    def _finish_badly(
        self,
        batch: ProducerBatch,
        error: KafkaError,
        failure: SendError,
        now_ms: int,
        record_errors: dict[int, SendError] | None = None,
    ) -> None:
        was_done = batch.is_done
        batch.fail(failure, now_ms, record_errors)
        if was_done:
            return
        if self._transactions and (batch.has_sequence or self._transactional):
            is_definite = failure.outcome is Outcome.FAIL
            self._transactions.failed(batch, error, is_definite=is_definite, now_ms=now_ms)
        self._end(batch)

    def _end(self, batch: ProducerBatch) -> None:
        """Stop tracking a batch.

        If a request still contains it, the end of that request releases it (PRD-ACC-11, -12).
        """
        was_in_flight = batch in self._in_flight
        if was_in_flight:
            del self._in_flight[batch]
        if not was_in_flight:
            self._accumulator.release(batch)
        elif not batch.on_the_wire:
            self._let_go(batch)
        self._done(batch)

    def _let_go(self, batch: ProducerBatch) -> None:
        """Free the memory of a finished batch that is in no request, and unmute its partition."""
        self._accumulator.release(batch)
        self._accumulator.unmute(batch.partition)

    def has_unfinished(self) -> bool:
        """Return whether any batch, queued or in flight, lacks its final state."""
        return bool(self._in_flight) or self._accumulator.has_queued()

    def in_flight(self) -> list[ProducerBatch]:
        """Return the batches in flight that have no final state, in the order of sending."""
        return list(self._in_flight)

    def abort_all(self, error_for_batch: Callable[[ProducerBatch], SendError], now_ms: int) -> None:
        """Abort every batch, queued or in flight (PRD-CLS-04)."""
        in_flight = list(self._in_flight)
        for batch in in_flight:
            batch.abort(error_for_batch(batch), now_ms)
        for batch in in_flight + self._accumulator.abort_queued(error_for_batch, now_ms):
            self._end(batch)

    def connections_are_closed(self) -> None:
        """Release the finished batches of all requests, since none can complete any more (PRD-ACC-11, PRD-CLS-04)."""
        for batch in self._accumulator.unreleased():
            batch.on_the_wire = False
            if batch.is_done:
                self._let_go(batch)

    def abort_undrained(self, error_for_batch: Callable[[ProducerBatch], SendError], now_ms: int) -> None:
        """Abort the batches that were never sent. Batches that were sent continue to their result (PRD-TXN-18)."""
        for batch in self._accumulator.abort_queued(error_for_batch, now_ms, only_undrained=True):
            self._end(batch)
