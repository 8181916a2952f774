"""The topic that a request names, by its name or, in newer versions, by its id."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.state import ClusterState
from harness.brokers.scripted.topics import Partition, Topic

NO_ID = UUID(int=0)


def topic_key(asked: Any) -> UUID | str:
    """Return the id by which a request names a topic, or else its name."""
    if hasattr(asked, "topic_id"):
        return NO_ID if asked.topic_id is None else asked.topic_id
    return str(asked.topic if hasattr(asked, "topic") else asked.name)


def find_topic(state: ClusterState, key: UUID | str) -> Topic:
    """Return a topic. Raises RequestRefused if it does not exist or the client may not read it."""
    if isinstance(key, UUID):
        topic = state.topics_by_id.get(key)
        absent = ErrorCode.unknown_topic_id
    else:
        topic = state.topics.get(key)
        absent = ErrorCode.unknown_topic_or_partition
    name = key if isinstance(key, str) else topic.name if topic is not None else None
    if name in state.settings.denied_topics:
        raise RequestRefused(ErrorCode.topic_authorization_failed)
    if topic is None:
        raise RequestRefused(absent)
    return topic


def find_partition(topic: Topic, index: int) -> Partition:
    """Return a partition of a topic. Raises RequestRefused if it does not exist."""
    if not 0 <= index < len(topic.partitions):
        raise RequestRefused(ErrorCode.unknown_topic_or_partition)
    return topic.partitions[index]
