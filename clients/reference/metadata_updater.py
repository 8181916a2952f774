"""Who asks for Metadata, and when: one question at a time, to the least loaded node.

``NetworkClient.DefaultMetadataUpdater`` in Java.
"""

from __future__ import annotations

from functools import partial

from clients.reference.config import ProducerConfig
from clients.reference.metadata import Metadata, MetadataQuestion
from clients.reference.network_client import NetworkClient
from clients.reference.requests import METADATA_LOWEST, ClientRequest, ClientResponse, metadata_request
from harness.wire.apis import Api


class MetadataUpdater:
    """Turns the wishes of ``metadata`` into requests of ``client``."""

    def __init__(self, config: ProducerConfig, client: NetworkClient, metadata: Metadata) -> None:
        self._config = config
        self._client = client
        self._metadata = metadata
        self._is_asking = False

    def maybe_update(self, now_ms: int) -> int | None:
        """Ask if it is time; gives the time to look again, None where only the network can bring news."""
        if self._is_asking:
            return None
        due_ms = self._metadata.next_update_ms()
        if due_ms > now_ms:
            return due_ms
        node_id = self._client.least_loaded_node(now_ms)
        if node_id is None:
            return self._client.next_connect_ms()
        if self._client.ready(node_id, now_ms):
            self._ask(node_id, now_ms)
        return None

    def _ask(self, node_id: int, now_ms: int) -> None:
        question = self._metadata.next_question(now_ms)
        self._is_asking = True
        self._client.send(
            ClientRequest(
                node_id,
                Api.METADATA,
                metadata_request(question.topics, allow_auto_topic_creation=True),
                partial(self._answered, question),
                timeout_ms=self._config.request_timeout_ms,
                lowest=METADATA_LOWEST,
            ),
            now_ms,
        )

    def _answered(self, question: MetadataQuestion, response: ClientResponse, now_ms: int) -> None:
        self._is_asking = False
        if response.body is not None:
            self._metadata.update(question, response.body, now_ms)
        else:
            self._metadata.failed(now_ms, response.version_mismatch or "the connection was lost")
