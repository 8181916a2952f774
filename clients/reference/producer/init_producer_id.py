"""When to request a producer id, and from which node: the least loaded one, until one answers.

TransactionManager's InitProducerIdHandler and Sender.maybeSendAndPollTransactionalRequest in Java.
"""

from __future__ import annotations

from clients.reference.common.requests import (
    INIT_PRODUCER_ID_HIGHEST,
    ClientRequest,
    init_producer_id_request,
)
from clients.reference.config.producer_config import ProducerConfig
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.transaction_manager import TransactionManager
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME


class InitProducerIdHandler:
    """Sends the InitProducerId requests that ``transactions`` needs through ``client`` (PRD-IDM-01)."""

    def __init__(
        self, config: ProducerConfig, client: NetworkClient, transactions: TransactionManager
    ) -> None:
        self._config = config
        self._client = client
        self._transactions = transactions
        self._connecting_to: int | None = None

    def maybe_ask(self, now_ms: int) -> int | None:
        """Send an InitProducerId request if one is due.

        Return the time of the next check, or None if only a network event can change anything.
        """
        due_ms = self._transactions.init_at_ms()
        if due_ms is None or due_ms > now_ms:
            return due_ms
        if self._was_not_let_in():
            self._transactions.fail_fatally(BY_NAME["SASL_AUTHENTICATION_FAILED"], now_ms)
            return None
        node_id = self._client.least_loaded_node(now_ms)
        if node_id is None:
            return self._client.next_usable_ms(now_ms)
        if self._client.ready(node_id, now_ms):
            self._ask(node_id, now_ms)
        else:
            self._connecting_to = node_id
        return None

    def _was_not_let_in(self) -> bool:
        """Return whether the chosen node refused the credentials. Another attempt would fail too (NET-CON-11)."""
        node_id = self._connecting_to
        return node_id is not None and self._client.authentication_error(node_id) is not None

    def _ask(self, node_id: int, now_ms: int) -> None:
        self._transactions.initializing(now_ms)
        self._client.send(
            ClientRequest(
                node_id,
                Api.INIT_PRODUCER_ID,
                init_producer_id_request,
                self._transactions.initialized,
                timeout_ms=self._config.request_timeout_ms,
                highest=INIT_PRODUCER_ID_HIGHEST,
            ),
            now_ms,
        )
