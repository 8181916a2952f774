"""When to send the requests of transactions, and to which node (Sender.maybeSendAndPollTransactionalRequest in Java).

A request for a coordinator waits until the coordinator is found and its connection is ready. If that connection is lost
or cannot be made, the coordinator is looked up again, after the retry backoff: Java asks at once, as often as brokers
answer.
"""

from __future__ import annotations

from functools import partial

from clients.reference.common.requests import ClientRequest
from clients.reference.config.producer_config import ProducerConfig
from clients.reference.network.network_client import NetworkClient
from clients.reference.ports import Node
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.reference.producer.transactions.txn_request_handlers import TxnRequestHandler
from clients.reference.producer.transactions.txn_requests import INIT_PRODUCER_ID_BUMP_LOWEST
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME


class TransactionalRequests:
    """Sends the requests that ``transactions`` needs through ``client``, one at a time."""

    def __init__(
        self, config: ProducerConfig, client: NetworkClient, transactions: TransactionalManager
    ) -> None:
        self._config = config
        self._client = client
        self._transactions = transactions
        self._connecting_to: int | None = None

    def maybe_send(self, has_incomplete: bool, now_ms: int) -> int | None:
        """Send the next request if it is due. ``has_incomplete`` says whether batches have no result.

        Return the time of the next check, or None if only a network event or the application can change anything.
        """
        transactions = self._transactions
        transactions.broker_features(*self._client.finalized_feature("transaction.version"))
        while True:
            handler = transactions.next_request(now_ms, has_incomplete=has_incomplete)
            if handler is None:
                return None
            if handler.retry_at_ms > now_ms:
                return handler.retry_at_ms
            if handler.coordinator is None:
                return self._send_to(self._client.least_loaded_node(now_ms), handler, now_ms)
            node = transactions.requests.node_of(handler.coordinator)
            if node is not None:
                return self._send_to_coordinator(node, handler, now_ms)
            transactions.requests.look_up(handler.coordinator, now_ms, "it is unknown")

    def _send_to_coordinator(self, node: Node, handler: TxnRequestHandler, now_ms: int) -> int | None:
        """Send a request to its coordinator, or look that up again if its connection was lost."""
        if self._client.node(node.id) is None:
            self._client.add_node(node)
        if handler.coordinator and self._was_lost(node.id):
            self._connecting_to = None
            delay_ms = self._config.retry_backoff_ms
            self._transactions.requests.look_up(
                handler.coordinator, now_ms, "it cannot be reached", after_ms=delay_ms
            )
            return now_ms + delay_ms
        return self._send_to(node.id, handler, now_ms)

    def _was_lost(self, node_id: int) -> bool:
        """Return whether a connection that this request began has ended before it was ready."""
        return self._connecting_to == node_id and self._client.connection_failed(node_id)

    def _send_to(self, node_id: int | None, handler: TxnRequestHandler, now_ms: int) -> int | None:
        """Send a request. Refused credentials are fatal, since another attempt would fail too (NET-CON-11)."""
        if node_id is None:
            return self._client.next_usable_ms(now_ms)
        if self._client.authentication_error(node_id) is not None:
            self._transactions.fail_fatally(BY_NAME["SASL_AUTHENTICATION_FAILED"], now_ms)
            return now_ms
        if not self._client.ready(node_id, now_ms):
            if not self._client.connection_failed(node_id):
                self._connecting_to = node_id
            return self._client.usable_at_ms(node_id, now_ms)
        self._connecting_to = None
        coordinator = handler.coordinator
        if coordinator and not coordinator.is_group:
            can_bump = self._client.supports(node_id, Api.INIT_PRODUCER_ID, INIT_PRODUCER_ID_BUMP_LOWEST)
            self._transactions.coordinator_is_ready(can_bump=bool(can_bump))
        self._transactions.requests.sent(handler)
        self._client.send(
            ClientRequest(
                node_id,
                handler.api,
                handler.build(self._transactions),
                partial(self._transactions.answered, handler),
                timeout_ms=self._config.request_timeout_ms,
                lowest=handler.lowest,
                highest=handler.highest,
            ),
            now_ms,
        )
        return None
