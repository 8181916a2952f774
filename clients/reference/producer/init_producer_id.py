"""Who asks for a producer id, and when: the least loaded node, until one answers (TransactionManager's
InitProducerIdHandler and Sender.maybeSendAndPollTransactionalRequest in Java)."""

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
    """Turns the wish of ``transactions`` for an identity into requests of ``client`` (PRD-IDM-01)."""

    def __init__(
        self, config: ProducerConfig, client: NetworkClient, transactions: TransactionManager
    ) -> None:
        self._config = config
        self._client = client
        self._transactions = transactions
        self._connecting_to: int | None = None

    def maybe_ask(self, now_ms: int) -> int | None:
        """Ask if it is time; gives the time to look again, None where only the network can bring news."""
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
        """The node that was to be asked refused who we are: no other try would end differently (NET-CON-11)."""
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
