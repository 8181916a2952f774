"""The errors of the consumer, by the names of Java's exceptions.

``name`` is Java's class name, or Kafka's name of an error code that has no class of its own here. ``retriable`` says
what Java's RetriableException says: the same call may succeed later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from clients.reference.metadata.topic_metadata import TopicPartition
from harness.model.errors import KafkaTrialError
from harness.wire.error_table import KafkaError


class ConsumerError(KafkaTrialError):
    """A call of the consumer failed."""

    name = "KafkaException"
    retriable = False

    def __init__(self, code: str, template: str, /, **params: object) -> None:
        super().__init__(code, template, hint=None, **params)


class WakeupError(ConsumerError):
    """``wakeup()`` interrupted the call (CSM-WKP-01)."""

    name = "WakeupException"


class TimeoutError(ConsumerError):
    """The call reached its limit (CSM-API-04), or a request was never sent (CSM-CNC-02)."""

    name = "TimeoutException"
    retriable = True


class DisconnectError(ConsumerError):
    """The connection was lost before the response, or before the request could be sent (CSM-CNC-03)."""

    name = "DisconnectException"
    retriable = True


class NoBrokersAvailableError(ConsumerError):
    """No broker can be used at the moment."""

    name = "NoAvailableBrokersException"
    retriable = True


class UnsupportedVersionError(ConsumerError):
    """Broker and client have no version of an API in common (NET-CON-04)."""

    name = "UnsupportedVersionException"


class ConcurrentModificationError(ConsumerError):
    """A second thread used the consumer (CSM-API-03)."""

    name = "ConcurrentModificationException"


class ResponseError(ConsumerError):
    """A broker answered with an error code. ``error`` is its entry in the error table."""

    def __init__(self, error: KafkaError, code: str, template: str, /, **params: object) -> None:
        super().__init__(code, template, **params)
        self.error = error
        self.name = error.name
        self.retriable = error.retriable


class TopicAuthorizationError(ConsumerError):
    """The client may not read ``topics``."""

    name = "TopicAuthorizationException"

    def __init__(self, topics: Iterable[str]) -> None:
        self.topics = tuple(sorted(topics))
        super().__init__("topic-forbidden", "this client may not read {topics}", topics=self.topics)


class InvalidTopicError(ConsumerError):
    """A topic has a name that Kafka does not allow."""

    name = "InvalidTopicException"


class GroupAuthorizationError(ConsumerError):
    """The client may not join this group."""

    name = "GroupAuthorizationException"


class GroupMaxSizeReachedError(ConsumerError):
    """The group has as many members as its brokers allow."""

    name = "GroupMaxSizeReachedException"


class InconsistentGroupProtocolError(ConsumerError):
    """The member has no assignor or protocol in common with its group, or was assigned what it did not subscribe to."""

    name = "InconsistentGroupProtocolException"


class FencedInstanceIdError(ConsumerError):
    """Another member has the same group.instance.id. This one cannot go on (CSM-GRP-10)."""

    name = "FencedInstanceIdException"


class UnknownMemberIdError(ConsumerError):
    """The coordinator does not know the member (CSM-GRP-07)."""

    name = "UnknownMemberIdException"


class IllegalGenerationError(ConsumerError):
    """The member's generation is not the group's (CSM-GRP-07)."""

    name = "IllegalGenerationException"


class MemberIdRequiredError(ConsumerError):
    """The coordinator has given the member an id to join with (CSM-GRP-02)."""

    name = "MemberIdRequiredException"


class UnjoinedGroupError(ConsumerError):
    """The member left the group while its JoinGroup was in flight."""

    name = "UnjoinedGroupException"
    retriable = True


class CoordinatorNotAvailableError(ConsumerError):
    """The group's coordinator is not known, or cannot be used."""

    name = "CoordinatorNotAvailableException"
    retriable = True


class RebalanceInProgressError(ConsumerError):
    """The group rebalances. The application must poll (CSM-OFC-03)."""

    name = "RebalanceInProgressException"


class CommitFailedError(ConsumerError):
    """The member is no longer part of the group, so nothing was committed (CSM-OFC-03)."""

    name = "CommitFailedException"


class StaleMemberEpochError(CommitFailedError):
    """A request had an earlier epoch of the member than the coordinator has (CSM-OFC-04)."""


class RetriableCommitFailedError(ConsumerError):
    """An asynchronous commit failed in a way that another commit may not (CSM-OFC-01)."""

    name = "RetriableCommitFailedException"
    retriable = True


class OffsetMetadataTooLargeError(ConsumerError):
    """The metadata of a committed offset exceeds offset.metadata.max.bytes of the broker."""

    name = "OffsetMetadataTooLarge"


class UnstableOffsetCommitError(ConsumerError):
    """Offsets are part of a transaction that is not complete (CSM-OFC-07)."""

    name = "UnstableOffsetCommitException"
    retriable = True


class NoOffsetForPartitionError(ConsumerError):
    """Partitions have no committed offset, and auto.offset.reset is none (CSM-FET-11)."""

    name = "NoOffsetForPartitionException"

    def __init__(self, partitions: Iterable[TopicPartition]) -> None:
        self.partitions = tuple(sorted(partitions))
        super().__init__(
            "no-offset-for-partition",
            "no offset for {partitions}, and auto.offset.reset is none",
            partitions=tuple(f"{topic}-{index}" for topic, index in self.partitions),
        )


class OffsetOutOfRangeError(ConsumerError):
    """Positions are outside of what the leader has, and auto.offset.reset is none (CSM-FET-06)."""

    name = "OffsetOutOfRangeException"

    def __init__(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.offsets = dict(offsets)
        super().__init__(
            "offset-out-of-range",
            "offsets out of range: {offsets}, and auto.offset.reset is none",
            offsets=tuple(
                f"{topic}-{index} at {offset}" for (topic, index), offset in sorted(self.offsets.items())
            ),
        )


class LogTruncationError(OffsetOutOfRangeError):
    """The leader's log differs from what was read. ``divergent`` are the first differing offsets (CSM-FET-07)."""

    name = "LogTruncationException"

    def __init__(
        self,
        offsets: Mapping[TopicPartition, int],
        divergent: Mapping[TopicPartition, tuple[int, int | None]],
    ) -> None:
        super().__init__(offsets)
        self.divergent = dict(divergent)


class RecordDeserializationError(ConsumerError):
    """A deserializer refused the record at ``partition`` and ``offset``. The position stays there (CSM-FET-09)."""

    name = "RecordDeserializationException"

    def __init__(self, partition: TopicPartition, offset: int, part: str, why: object) -> None:
        self.partition, self.offset = partition, offset
        super().__init__(
            "record-not-deserialized",
            "the {part} of {partition} at offset {offset} cannot be deserialized: {why}; seek past it to go on",
            part=part,
            partition=f"{partition[0]}-{partition[1]}",
            offset=offset,
            why=why,
        )


class CorruptRecordError(ConsumerError):
    """The data of ``partition`` cannot be read on at ``offset``. The position stays there (CSM-FET-09)."""

    def __init__(self, partition: TopicPartition, offset: int, why: object) -> None:
        self.partition, self.offset = partition, offset
        super().__init__(
            "record-corrupt",
            "{partition} cannot be read at offset {offset}: {why}; seek past it to go on",
            partition=f"{partition[0]}-{partition[1]}",
            offset=offset,
            why=why,
        )


class StaleMetadataError(ConsumerError):
    """The metadata lacks what a request needs. The call is tried again after an update."""

    name = "StaleMetadataException"
    retriable = True


def error_name(error: BaseException) -> str:
    """Return Kafka's name of an error, or that of its class."""
    name: str = getattr(error, "name", type(error).__name__)
    return name
