"""What the application subscribed to: topics, a pattern, or partitions. Each excludes the others (CSM-API-01)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from re import Pattern
from typing import Any

from clients.reference.errors import IllegalStateError
from clients.reference.metadata.topic_metadata import TopicPartition


class SubscriptionType(Enum):
    """How partitions are assigned."""

    NONE = "nothing"
    TOPICS = "topics"
    PATTERN = "a pattern"
    USER_ASSIGNED = "partitions"


class Subscription:
    """The subscription of one consumer, and the listener of its rebalances."""

    def __init__(self) -> None:
        self._type = SubscriptionType.NONE
        self._pattern: Pattern[str] | None = None
        self._topics: frozenset[str] = frozenset()
        self._group_topics: frozenset[str] = frozenset()
        self.listener: Any = None

    # Subscribing

    def _set_type(self, kind: SubscriptionType) -> None:
        if self._type is SubscriptionType.NONE:
            self._type = kind
        elif self._type is not kind:
            raise IllegalStateError(
                "subscription-exclusive",
                "the consumer is subscribed to {one} and cannot subscribe to {other}: call unsubscribe() first",
                one=self._type.value,
                other=kind.value,
            )

    def subscribe(self, topics: Iterable[str], listener: Any = None) -> bool:
        """Subscribe to topics. Return whether they differ from those before. Raise IllegalStateError (CSM-API-01)."""
        self._set_type(SubscriptionType.TOPICS)
        self.listener = listener
        return self._change_topics(topics)

    def subscribe_pattern(self, pattern: Pattern[str], listener: Any = None) -> None:
        """Subscribe to the topics whose whole name matches. ``subscribe_from_pattern`` then supplies them."""
        self._set_type(SubscriptionType.PATTERN)
        self.listener = listener
        self._pattern = pattern

    def subscribe_from_pattern(self, topics: Iterable[str]) -> bool:
        """Set the topics that match the pattern now. Return whether they have changed."""
        if not self.has_pattern:
            raise IllegalStateError("subscription-without-pattern", "there is no pattern")
        return self._change_topics(topics)

    def _change_topics(self, topics: Iterable[str]) -> bool:
        wanted = frozenset(topics)
        changed = wanted != self._topics
        self._topics = wanted
        return changed

    def group_subscribe(self, topics: Iterable[str]) -> bool:
        """Set the topics of all members. Return whether some are not in the own subscription (the leader's task)."""
        self._group_topics = frozenset(topics)
        return not self._group_topics <= self._topics

    def reset_group_subscription(self) -> None:
        """Forget the other members' topics, as the leader may have changed."""
        self._group_topics = frozenset()

    def unsubscribe(self) -> None:
        """Forget the subscription."""
        self._topics = self._group_topics = frozenset()
        self._pattern = None
        self._type = SubscriptionType.NONE

    # Queries

    @property
    def pattern(self) -> Pattern[str] | None:
        """The pattern whose topics are subscribed, if there is one."""
        return self._pattern

    @property
    def has_pattern(self) -> bool:
        """Whether the topics are those that match a pattern."""
        return self._type is SubscriptionType.PATTERN

    @property
    def has_auto_assigned_partitions(self) -> bool:
        """Whether a group assigns the partitions."""
        return self._type in (SubscriptionType.TOPICS, SubscriptionType.PATTERN)

    @property
    def is_user_assigned(self) -> bool:
        """Whether the application assigned the partitions."""
        return self._type is SubscriptionType.USER_ASSIGNED

    @property
    def has_nothing(self) -> bool:
        """Whether there is neither a subscription nor an assignment by the application."""
        return self._type is SubscriptionType.NONE

    def matches_pattern(self, topic: str) -> bool:
        """Return whether the pattern, if there is one, matches the whole name."""
        return self._pattern is not None and self._pattern.fullmatch(topic) is not None

    @property
    def subscription(self) -> frozenset[str]:
        """The subscribed topics. Empty if the application assigned the partitions."""
        return self._topics if self.has_auto_assigned_partitions else frozenset()

    @property
    def metadata_topics(self) -> frozenset[str]:
        """The topics whose metadata the consumer needs."""
        return self._topics | self._group_topics

    def matches_subscription(self, partitions: Iterable[TopicPartition]) -> bool:
        """Return whether every partition belongs to a subscribed topic, or to one that the pattern matches."""
        if self._pattern is not None:
            return all(self._pattern.fullmatch(topic) for topic, _ in partitions)
        return all(topic in self._topics for topic, _ in partitions)
