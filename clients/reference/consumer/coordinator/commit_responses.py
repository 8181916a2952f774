"""What the coordinator answers to a commit, and what the member does about it (OffsetCommitResponseHandler)."""

from __future__ import annotations

from collections.abc import Mapping

from clients.reference.common.requests import Message
from clients.reference.consumer.coordinator.abstract_coordinator import AbstractCoordinator
from clients.reference.consumer.coordinator.generation import Generation
from clients.reference.consumer.coordinator.group_errors import group_error, unexpected_error
from clients.reference.consumer.coordinator.member_states import MemberState
from clients.reference.consumer.errors import (
    CommitFailedError,
    ConsumerError,
    RebalanceInProgressError,
    TopicAuthorizationError,
)
from clients.reference.consumer.request_future import RequestFuture
from clients.reference.consumer.subscription.positions import OffsetAndMetadata, TopicPartition
from harness.wire.apis import Api
from harness.wire.error_table import KafkaError, error_for

Offsets = Mapping[TopicPartition, OffsetAndMetadata]

_ANOTHER_COORDINATOR = ("COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR", "REQUEST_TIMED_OUT")
_PASSED_ON = (
    "GROUP_AUTHORIZATION_FAILED",
    "OFFSET_METADATA_TOO_LARGE",
    "INVALID_COMMIT_OFFSET_SIZE",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "UNKNOWN_TOPIC_OR_PARTITION",
)


class CommitResponses:
    """The handler of OffsetCommit of ``member``."""

    def __init__(self, member: AbstractCoordinator) -> None:
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
            future.fail(
                TopicAuthorizationError(
                    "topic-forbidden", "this client may not read {topics}", topics=tuple(sorted(forbidden))
                )
            )
        else:
            future.complete(None)

    def _failure(self, error: KafkaError, sent: Generation) -> ConsumerError:
        member = self._member
        if error.name in _ANOTHER_COORDINATOR:
            member.lookup.lost(f"OffsetCommit: {error.name}")
        elif error.name == "REBALANCE_IN_PROGRESS":
            member.request_rejoin("a commit was refused because the group is rebalancing")
            return RebalanceInProgressError(
                "commit-during-rebalance", "the group rebalances: poll, then commit again"
            )
        elif error.name == "FENCED_INSTANCE_ID":
            if member.generation != sent:
                return self._outdated()
        elif error.name in ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"):
            if member.generation != sent and member.state is MemberState.PREPARING_REBALANCE:
                return self._outdated()
            if member.generation == sent:
                member.reset_on_error(Api.OFFSET_COMMIT, error)
            return _not_a_member(error)
        elif error.name not in _PASSED_ON:
            return unexpected_error(error, Api.OFFSET_COMMIT, member.group_id)
        return group_error(error, Api.OFFSET_COMMIT, member.group_id)

    def _outdated(self) -> ConsumerError:
        """The request's generation is over, but the member is on its way to the next one."""
        if self._member.state is MemberState.PREPARING_REBALANCE:
            return RebalanceInProgressError(
                "commit-of-an-old-generation", "the group has rebalanced since: poll, then commit again"
            )
        return CommitFailedError(
            "commit-of-no-member", "the group has rebalanced, and the partitions may have other owners"
        )


def _not_a_member(error: KafkaError) -> ConsumerError:
    return CommitFailedError(
        "commit-refused",
        "the group no longer has this member ({error}), and the partitions may have other owners",
        error=error.name,
    )
