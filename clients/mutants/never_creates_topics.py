"""Metadata requests do not let the broker create the topics that they name."""

from __future__ import annotations

from functools import partial

from clients.reference.common.requests import METADATA_LOWEST, ClientRequest, metadata_request
from clients.reference.network.metadata_updater import MetadataUpdater
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant
from harness.wire.apis import Api


class Cautious(MetadataUpdater):
    """Sends Metadata requests with allow_auto_topic_creation=false."""

    def _ask(self, node_id: int, now_ms: int) -> None:
        question = self._metadata.next_question(now_ms)
        self._client.send(
            ClientRequest(
                node_id,
                Api.METADATA,
                metadata_request(question.topics, allow_auto_topic_creation=False),
                partial(self._answered, question),
                timeout_ms=self._config.request_timeout_ms,
                lowest=METADATA_LOWEST,
                is_internal=True,
            ),
            now_ms,
        )


MUTANT = Mutant(
    "does not let brokers create the topics that it uses",
    Components(metadata_updater=Cautious),
    caught_by=("delivery/topics_may_be_created_by_being_used",),
    breaks=("MET-15",),
)
