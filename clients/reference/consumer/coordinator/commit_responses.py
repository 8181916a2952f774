"""What the coordinator answers to a commit, and what the member does about it (OffsetCommitResponseHandler)."""

from __future__ import annotations

from collections.abc import Mapping

from clients.reference.common.requests import Message
from clients.reference.consumer.coordinator.generation import Generation
from clients.reference.consumer.coordinator.group_errors import group_error, unexpected_error
from clients.reference.consumer.coordinator.group_member import GroupMember
from clients.reference.consumer.errors import CommitFailedError, ConsumerError, TopicAuthorizationError
from clients.reference.consumer.request_future import RequestFuture
from clients.reference.consumer.subscription.positions import OffsetAndMetadata, TopicPartition
from harness.wire.apis import Api
from harness.wire.error_table import KafkaError, error_for

Offsets = Mapping[TopicPartition, OffsetAndMetadata]

_ANOTHER_COORDINATOR = ("COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR", "REQUEST_TIMED_OUT")
_PASSED_ON = (
    "FENCED_INSTANCE_ID",
    "GROUP_AUTHORIZATION_FAILED",
    "OFFSET_METADATA_TOO_LARGE",
    "INVALID_COMMIT_OFFSET_SIZE",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "UNKNOWN_TOPIC_OR_PARTITION",
)


class CommitResponses:
    """The handler of OffsetCommit of ``member``."""

    def __init__(self, member: GroupMember) -> None:
        self._member = member

    def answered(self, body: Message, future: RequestFuture[None], sent: Generation) -> None:
        """Complete ``future``, or fail it with the first error. ``sent`` is the generation in the request."""
        forbidden = set[str]()
        for topic in body.topics:
            for partition in topic.partitions:
                error = error_for(int(partition.error_code))
                if error.name == "TOPIC_AUTHORIZATION_FAILED":
                    forbidden.add(topic.name)
                elif error.code:
                    future.fail(self._failure(error, sent))
                    return
        if forbidden:
            future.fail(TopicAuthorizationError(forbidden))
        else:
            future.complete(None)

    def _failure(self, error: KafkaError, sent: Generation) -> ConsumerError:
        member = self._member
        if error.name in _ANOTHER_COORDINATOR:
            member.lookup.lost(f"OffsetCommit: {error.name}")
        elif (own := member.commit_refused(error, sent)) is not None:
            return own
        elif error.name not in _PASSED_ON:
            return unexpected_error(error, Api.OFFSET_COMMIT, member.group_id)
        return group_error(error, Api.OFFSET_COMMIT, member.group_id)


def not_a_member(error: KafkaError) -> CommitFailedError:
    """Return the exception for a commit of a member that the group no longer has."""
    return CommitFailedError(
        "commit-refused",
        "the group no longer has this member ({error}), and the partitions may have other owners",
        error=error.name,
    )
