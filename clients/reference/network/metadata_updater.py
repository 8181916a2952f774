"""When to send Metadata requests, and to which node: one at a time, to the least loaded node.

``NetworkClient.DefaultMetadataUpdater`` in Java.
"""

from __future__ import annotations

from functools import partial

from clients.reference.common.requests import METADATA_LOWEST, ClientRequest, ClientResponse, metadata_request
from clients.reference.config.client_config import ClientConfig
from clients.reference.errors import BrokerError
from clients.reference.metadata.metadata import Metadata, MetadataRequest
from clients.reference.network.network_client import NetworkClient
from harness.model.verdicts import Outcome
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME


class MetadataUpdater:
    """Sends the requests that ``metadata`` needs through ``client``."""

    def __init__(self, config: ClientConfig, client: NetworkClient, metadata: Metadata) -> None:
        self._config = config
        self._client = client
        self._metadata = metadata

    def maybe_update(self, now_ms: int) -> int | None:
        """Send a Metadata request if one is due.

        Return the time of the next check, or None if only a network event can change anything.
        """
        if self._metadata.is_asking:
            return None
        due_ms = self._metadata.next_update_ms()
        if due_ms > now_ms:
            return due_ms
        self._metadata.attempt_begins(now_ms)
        node_id = self._usable_node(now_ms)
        if node_id is None:
            return self._client.next_usable_ms(now_ms)
        if self._client.can_send_request(node_id, now_ms):
            self._ask(node_id, now_ms)
        else:
            self._client.ready(node_id, now_ms)
        return None

    def _usable_node(self, now_ms: int) -> int | None:
        """Return the least loaded node. If no node is usable, start again from the bootstrap servers (NET-CON-15).

        A node that is connected and merely busy or throttled does not cause a rebootstrap.
        """
        node_id = self._client.least_loaded_node(now_ms)
        lost = node_id is None and not self._metadata.is_bootstrap and not self._client.has_ready_node()
        if lost and self._config.metadata_recovery_strategy == "rebootstrap":
            self._metadata.rebootstrap(now_ms, "no known node can be used")
            return self._client.least_loaded_node(now_ms)
        return node_id

    def _ask(self, node_id: int, now_ms: int) -> None:
        question = self._metadata.next_question(now_ms)
        self._client.send(
            ClientRequest(
                node_id,
                Api.METADATA,
                metadata_request(
                    question.topics, allow_auto_topic_creation=self._metadata.allow_auto_topic_creation
                ),
                partial(self._answered, question),
                timeout_ms=self._config.request_timeout_ms,
                lowest=METADATA_LOWEST,
                is_internal=True,
            ),
            now_ms,
        )

    def _answered(self, question: MetadataRequest, response: ClientResponse, now_ms: int) -> None:
        """Apply the response. A version mismatch is fatal, since no later request can succeed either (MET-16)."""
        if response.body is not None:
            self._metadata.update(question, response.body, now_ms)
            return
        if response.version_mismatch:
            error = BY_NAME["UNSUPPORTED_VERSION"]
            self._metadata.fail(
                BrokerError(
                    error,
                    "metadata-unavailable",
                    "metadata is unavailable: {why}",
                    outcome=Outcome.FAIL,
                    why=response.version_mismatch,
                )
            )
        self._metadata.failed(now_ms, response.version_mismatch or "the connection was lost")
