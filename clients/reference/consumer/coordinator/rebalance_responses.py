"""What the coordinator answers during a rebalance and to heartbeats, and what the member does about it.

An error about a generation that is no longer the member's says nothing about the present one, and is ignored
(KAFKA-13419). The leader's assignment waits until metadata has all topics of the group.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from clients.reference.common.requests import Message
from clients.reference.consumer.consumer_protocol import PROTOCOL_TYPE
from clients.reference.consumer.coordinator.generation import Generation
from clients.reference.consumer.coordinator.group_errors import group_error, unexpected_error
from clients.reference.consumer.coordinator.group_requests import sync_group_request
from clients.reference.consumer.coordinator.member_states import MemberState
from clients.reference.consumer.errors import (
    IllegalGenerationError,
    InconsistentGroupProtocolError,
    UnjoinedGroupError,
)
from clients.reference.consumer.request_future import RequestFuture
from harness.wire.apis import Api
from harness.wire.error_table import KafkaError, error_for

if TYPE_CHECKING:
    from clients.reference.consumer.coordinator.abstract_coordinator import AbstractCoordinator

_ANOTHER_COORDINATOR = ("COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
#: Errors that a call raises, or that only need another attempt.
_JOIN_PASSED_ON = (
    "COORDINATOR_LOAD_IN_PROGRESS",
    "FENCED_INSTANCE_ID",
    "INCONSISTENT_GROUP_PROTOCOL",
    "INVALID_SESSION_TIMEOUT",
    "INVALID_GROUP_ID",
    "GROUP_AUTHORIZATION_FAILED",
    "GROUP_MAX_SIZE_REACHED",
    "UNSUPPORTED_VERSION",
    "REBALANCE_IN_PROGRESS",
)
_SYNC_PASSED_ON = ("GROUP_AUTHORIZATION_FAILED", "REBALANCE_IN_PROGRESS", "FENCED_INSTANCE_ID")
_GENERATION_LOST = ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION")


class RebalanceResponses:
    """The handlers of JoinGroup, SyncGroup and Heartbeat of ``member``."""

    def __init__(self, member: AbstractCoordinator) -> None:
        self._member = member
        self._leading: tuple[Message, RequestFuture[bytes], Generation] | None = None

    def _fail(self, future: RequestFuture[bytes], error: KafkaError, api: Api) -> None:
        future.fail(group_error(error, api, self._member.group_id))

    # JoinGroup

    def join_group(self, body: Message, future: RequestFuture[bytes], sent: Generation) -> None:
        """Sync with the group, or fail ``future`` and do what the error demands."""
        member, error = self._member, error_for(int(body.error_code))
        if not error.code:
            self._joined(body, future)
        elif error.name == "MEMBER_ID_REQUIRED":
            member.generation = Generation(member_id=body.member_id)
            member.request_rejoin("need to join with the member id that was given")
            self._fail(future, error, Api.JOIN_GROUP)
        elif error.name == "UNKNOWN_MEMBER_ID":
            if member.generation == sent:
                member.reset_on_error(Api.JOIN_GROUP, error)
            self._fail(future, error, Api.JOIN_GROUP)
        elif error.name in _ANOTHER_COORDINATOR:
            member.lookup.lost(f"JoinGroup: {error.name}")
            self._fail(future, error, Api.JOIN_GROUP)
        elif error.name in _JOIN_PASSED_ON:
            self._fail(future, error, Api.JOIN_GROUP)
        else:
            future.fail(unexpected_error(error, Api.JOIN_GROUP, member.group_id))

    def _joined(self, body: Message, future: RequestFuture[bytes]) -> None:
        member = self._member
        if _is_other_protocol(body):
            future.fail(_inconsistent("protocol type", body.protocol_type, PROTOCOL_TYPE))
        elif member.state is not MemberState.PREPARING_REBALANCE:
            future.fail(UnjoinedGroupError("member-left", "the member left the group while it was joining"))
        else:
            member.joined(Generation(int(body.generation_id), body.member_id, body.protocol_name))
            if body.leader == body.member_id:
                self._leading = body, future, member.generation
                self.assign_as_leader()
            else:
                self._sync({}, future)

    def assign_as_leader(self) -> None:
        """Assign for the group if this member leads it, and metadata has what is needed for that."""
        if self._leading is None:
            return
        body, future, generation = self._leading
        if self._member.generation != generation:
            self._leading = None
            future.fail(
                IllegalGenerationError("generation-lost", "the generation was lost before the assignment")
            )
            return
        try:
            assignment = self._member.on_leader_elected(body)
        except Exception as raised:
            self._leading = None
            future.fail(raised)
            return
        if assignment is not None:
            self._leading = None
            self._sync(assignment, future)

    # SyncGroup

    def _sync(self, assignment: Mapping[str, bytes], future: RequestFuture[bytes]) -> None:
        member = self._member
        build = sync_group_request(member.group_id, member.generation, member.instance_id, assignment)
        member.ask(Api.SYNC_GROUP, build, self.sync_group).chain(future)

    def sync_group(self, body: Message, future: RequestFuture[bytes], sent: Generation) -> None:
        """Complete ``future`` with the assignment, or fail it and do what the error demands."""
        member, error = self._member, error_for(int(body.error_code))
        if not error.code:
            self._synced(body, future)
        elif error.name in _GENERATION_LOST:
            if member.generation == sent:
                member.reset_on_error(Api.SYNC_GROUP, error)
            self._fail(future, error, Api.SYNC_GROUP)
        elif error.name in _ANOTHER_COORDINATOR:
            member.lookup.lost(f"SyncGroup: {error.name}")
            self._fail(future, error, Api.SYNC_GROUP)
        elif error.name in _SYNC_PASSED_ON:
            self._fail(future, error, Api.SYNC_GROUP)
        else:
            future.fail(unexpected_error(error, Api.SYNC_GROUP, member.group_id))

    def _synced(self, body: Message, future: RequestFuture[bytes]) -> None:
        member = self._member
        chosen = getattr(body, "protocol_name", None)
        if _is_other_protocol(body):
            future.fail(_inconsistent("protocol type", body.protocol_type, PROTOCOL_TYPE))
        elif member.generation.is_reset or member.state is not MemberState.COMPLETING_REBALANCE:
            future.fail(
                IllegalGenerationError("generation-lost", "the generation was lost before SyncGroup's answer")
            )
        elif chosen is not None and chosen != member.generation.protocol_name:
            future.fail(_inconsistent("protocol", chosen, member.generation.protocol_name))
        else:
            member.synced()
            future.complete(bytes(body.assignment))

    # Heartbeat

    def heartbeat(self, body: Message, future: RequestFuture[None], sent: Generation) -> None:
        """Complete ``future`` if the coordinator knows the member, or fail it and do what the error demands."""
        member, error = self._member, error_for(int(body.error_code))
        failure = group_error(error, Api.HEARTBEAT, member.group_id)
        if not error.code:
            future.complete(None)
        elif error.name == "REBALANCE_IN_PROGRESS":
            if member.state is MemberState.STABLE:
                member.request_rejoin("the group is rebalancing")
                future.fail(failure)
            else:
                future.complete(None)
        elif error.name in (*_GENERATION_LOST, "FENCED_INSTANCE_ID"):
            if member.generation == sent:
                member.reset_on_error(Api.HEARTBEAT, error)
                future.fail(failure)
            else:
                future.complete(None)
        elif error.name in _ANOTHER_COORDINATOR:
            member.lookup.lost(f"Heartbeat: {error.name}")
            future.fail(failure)
        elif error.name == "GROUP_AUTHORIZATION_FAILED":
            future.fail(failure)
        else:
            future.fail(unexpected_error(error, Api.HEARTBEAT, member.group_id))


def _is_other_protocol(body: Message) -> bool:
    told = getattr(body, "protocol_type", None)
    return told is not None and told != PROTOCOL_TYPE


def _inconsistent(what: str, told: str | None, due: str | None) -> InconsistentGroupProtocolError:
    return InconsistentGroupProtocolError(
        "group-protocol-inconsistent",
        "the group's {what} is {told!r}, not {due!r}",
        what=what,
        told=told,
        due=due,
    )
