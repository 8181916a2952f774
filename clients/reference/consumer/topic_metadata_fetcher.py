"""TopicMetadataFetcher: metadata for a call of the application, apart from what the consumer itself needs."""

from __future__ import annotations

from clients.reference.common.backoff import ExponentialBackoff
from clients.reference.common.requests import METADATA_LOWEST, Message, metadata_request
from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.calls import Call, Clock, Timer, sleep
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.reference.consumer.errors import (
    InvalidTopicError,
    ResponseError,
    TimeoutError,
    TopicAuthorizationError,
)
from clients.reference.metadata.topic_metadata import PartitionMetadata
from clients.reference.ports import Jitter
from harness.wire.apis import Api
from harness.wire.error_table import KafkaError, error_for

Partitions = dict[int, PartitionMetadata]


class TopicMetadataFetcher:
    """Asks any broker, until it knows every topic in question. Partitions may have no leader."""

    def __init__(
        self, config: ConsumerConfig, client: ConsumerNetworkClient, clock: Clock, jitter: Jitter
    ) -> None:
        self._client = client
        self._clock = clock
        self._allow_auto_creation = config.allow_auto_create_topics
        self._backoff = ExponentialBackoff(config.retry_backoff_ms, config.retry_backoff_max_ms, jitter)

    def topic(self, topic: str, timer: Timer) -> Call[Partitions | None]:
        """Return a topic's partitions, or None if it does not exist. Raise TimeoutError when ``timer`` expires."""
        found = yield from self._fetch([topic], timer)
        return found.get(topic)

    def all_topics(self, timer: Timer) -> Call[dict[str, Partitions]]:
        """Return the partitions of every topic that the client may see. Raise TimeoutError when ``timer`` expires."""
        return (yield from self._fetch(None, timer))

    def _fetch(self, topics: list[str] | None, timer: Timer) -> Call[dict[str, Partitions]]:
        attempts = 0
        while True:
            node_id = self._client.least_loaded_node(self._clock.now_ms)
            if node_id is not None:
                build = metadata_request(topics, allow_auto_topic_creation=self._allow_auto_creation)
                now_ms = self._clock.now_ms
                future = self._client.send(node_id, Api.METADATA, build, now_ms, lowest=METADATA_LOWEST)
                yield from self._client.await_future(future, timer)
                if future.failed and not future.is_retriable:
                    raise future.error
                found = _read(future.value) if future.succeeded else None
                if found is not None:
                    return found
            if timer.is_expired:
                raise TimeoutError(
                    "topic-metadata-timeout",
                    "no metadata within {timeout_ms} ms",
                    timeout_ms=timer.timeout_ms,
                )
            yield from sleep(timer, self._backoff.delay_ms(attempts))
            attempts += 1


def _read(body: Message) -> dict[str, Partitions] | None:
    """Return the partitions by topic, or None if the question must be repeated. Raise what repeating cannot change."""
    found: dict[str, Partitions] = {}
    for topic in body.topics:
        error = error_for(int(topic.error_code))
        if error.name == "UNKNOWN_TOPIC_OR_PARTITION":
            continue
        if error.code and not error.retriable:
            raise _refused(error, topic.name)
        if error.code:
            return None
        found[topic.name] = {
            int(each.partition_index): PartitionMetadata(
                None if each.leader_id < 0 else int(each.leader_id),
                int(getattr(each, "leader_epoch", -1)),
                tuple(map(int, each.replica_nodes)),
                tuple(map(int, each.isr_nodes)),
                tuple(map(int, getattr(each, "offline_replicas", ()))),
            )
            for each in topic.partitions
        }
    return found


def _refused(error: KafkaError, topic: str) -> Exception:
    if error.name == "INVALID_TOPIC_EXCEPTION":
        return InvalidTopicError(
            "topic-invalid", "these topic names are not allowed: {topics}", topics=(topic,)
        )
    if error.name == "TOPIC_AUTHORIZATION_FAILED":
        return TopicAuthorizationError([topic])
    return ResponseError(
        error, "topic-metadata-refused", "topic {topic!r}: {error}", topic=topic, error=error.name
    )
