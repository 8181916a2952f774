"""ConsumerMetadata: the metadata of the subscribed topics, or of all topics for a pattern.

It asks for all topics in use at once, never for new ones only. What a pattern or a call does not need is dropped from
the response. A topic that the client may not read, or with a name that cannot exist, fails the next call.
"""

from __future__ import annotations

from collections.abc import Mapping

from clients.reference.common.requests import Message
from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.errors import ConsumerError, InvalidTopicError, TopicAuthorizationError
from clients.reference.consumer.subscription.positions import LeaderAndEpoch, TopicPartition
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.reference.metadata.metadata import Metadata, MetadataRequest
from clients.reference.ports import Jitter
from clients.reference.telemetry.trace import Trace


class ConsumerMetadata(Metadata):
    """Metadata for what ``subscriptions`` needs, and for topics that were added for single calls."""

    def __init__(
        self, config: ConsumerConfig, subscriptions: SubscriptionState, jitter: Jitter, trace: Trace
    ) -> None:
        super().__init__(config, jitter, trace)
        self._subscriptions = subscriptions
        self._excludes_internal = config.exclude_internal_topics
        self.allow_auto_topic_creation = config.allow_auto_create_topics
        self._refused: dict[str, set[str]] = {}

    # What is requested

    def request_update_for_new_topics(self) -> None:
        """Request an update at once, which responses to earlier requests do not satisfy (MET-07)."""
        self._request_new_topics()

    @property
    def is_update_requested(self) -> bool:
        """Whether an update is needed, even if its time has not come."""
        return self._need_full or self._need_partial

    @property
    def has_all_topics(self) -> bool:
        """Whether a response has come for all topics that were requested as new."""
        return not self._need_partial

    def next_question(self, now_ms: int) -> MetadataRequest:
        """Return a request for all topics of the cluster if there is a pattern, else for all topics in use."""
        self._forget_idle_topics(now_ms)
        self.is_asking = True
        topics = None if self._subscriptions.has_pattern else tuple(sorted(self._in_use()))
        return MetadataRequest(topics, False, self._request_version)

    def _in_use(self) -> set[str]:
        return self._idle_at_ms.keys() | self._subscriptions.metadata_topics

    # What is kept

    def _retains(self, answer: Message) -> bool:
        if answer.name in self._in_use():
            return True
        if answer.is_internal and self._excludes_internal:
            return False
        return self._subscriptions.matches_pattern(answer.name)

    def _topics_in_use(self) -> Mapping[str, object]:
        return {**self._idle_at_ms, **self.topics}

    def _update_topics(self, question: MetadataRequest, body: Message) -> bool:
        changed = super()._update_topics(question, body)
        self._refused = {}
        for topic, error in self.topic_errors.items():
            if error.name in ("TOPIC_AUTHORIZATION_FAILED", "INVALID_TOPIC_EXCEPTION"):
                self._refused.setdefault(error.name, set()).add(topic)
        return changed

    def take_error(self) -> Exception | None:
        """Return and clear what the caller must raise: a fatal error, invalid or forbidden topics, or None."""
        fatal = self.take_fatal_error()
        refused, self._refused = self._refused, {}
        return fatal or _refusal(refused)

    # Queries

    def leader_and_epoch(self, partition: TopicPartition) -> LeaderAndEpoch:
        """Return the current leader and its epoch. None for what is unknown.

        The leader is unknown while another source has named a newer epoch than metadata.
        """
        known, newest = self.current_leader(partition), self._epochs.newest(partition)
        if newest > known.epoch:
            return LeaderAndEpoch(None, newest)
        return LeaderAndEpoch(known.leader, known.epoch if known.epoch >= 0 else None)


def _refusal(refused: Mapping[str, set[str]]) -> ConsumerError | None:
    if topics := refused.get("INVALID_TOPIC_EXCEPTION"):
        return InvalidTopicError(
            "topic-invalid", "these topic names are not allowed: {topics}", topics=tuple(sorted(topics))
        )
    if topics := refused.get("TOPIC_AUTHORIZATION_FAILED"):
        return TopicAuthorizationError(topics)
    return None
