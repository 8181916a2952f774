"""HeartbeatManager: sends the heartbeats of a member of a group of KIP-848, and handles what comes back.

A heartbeat belongs to one incarnation of its member: from a join until the member is fenced or leaves. What comes back
later says nothing about the present one, and is ignored.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from clients.reference.common.earliest import earliest
from clients.reference.common.requests import Message
from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.calls import Clock
from clients.reference.consumer.coordinator.generation import Generation
from clients.reference.consumer.coordinator.group_errors import group_error, unexpected_error
from clients.reference.consumer.errors import error_name
from clients.reference.consumer.membership.assignments import told
from clients.reference.consumer.membership.heartbeat_contents import HeartbeatContents
from clients.reference.consumer.membership.heartbeat_times import HeartbeatTimes
from clients.reference.consumer.membership.membership_states import MembershipState
from clients.reference.consumer.request_future import RequestFuture
from clients.reference.ports import Jitter
from harness.wire.apis import Api
from harness.wire.error_table import KafkaError, error_for

if TYPE_CHECKING:
    from clients.reference.consumer.membership.membership_manager import MembershipManager

_API = Api.CONSUMER_GROUP_HEARTBEAT
_ANOTHER_COORDINATOR = ("COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
_FENCED = ("FENCED_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID")
#: Errors that end the membership and that the application gets as they are (CSM-NGP-09).
_FATAL = (
    "GROUP_AUTHORIZATION_FAILED",
    "INVALID_REQUEST",
    "GROUP_MAX_SIZE_REACHED",
    "UNSUPPORTED_ASSIGNOR",
    "UNRELEASED_INSTANCE_ID",
    "FENCED_INSTANCE_ID",
    "UNSUPPORTED_VERSION",
    "INVALID_REGULAR_EXPRESSION",
)


class HeartbeatManager:
    """The heartbeats of ``member``. Each one that is sent, and each response, may change its state."""

    contents_component: type[HeartbeatContents] = HeartbeatContents  # variants of the client replace these
    times_component: type[HeartbeatTimes] = HeartbeatTimes

    def __init__(
        self, member: MembershipManager, config: ConsumerConfig, clock: Clock, jitter: Jitter
    ) -> None:
        self._member = member
        self._clock = clock
        self.contents = self.contents_component(member.group_id, member.instance_id)
        self.times = self.times_component(config, clock, jitter)

    # Requests

    def step(self) -> int | None:
        """Send a heartbeat if one is due. Return when to come again, or None."""
        member = self._member
        if not (member.state.is_in_group or member.state is MembershipState.PREPARE_LEAVING):
            return None
        limit_ms = self.times.poll_ends_ms if member.state.is_in_group else None
        if member.lookup.is_unknown:
            return earliest(member.lookup.find_in_background(), limit_ms)
        if self.times.is_due(at_once=member.state.heartbeats_at_once):
            self._send()
        return earliest(self.times.next_ms(at_once=member.state.heartbeats_at_once), limit_ms)

    def _send(self) -> None:
        member, incarnation = self._member, self._member.incarnation
        wishes = member.wishes
        lowest = self.contents.lowest_version(wishes)
        build = self.contents.next(member.generation, wishes, member.current)
        self.times.sent()
        future: RequestFuture[None] = member.ask(
            _API, build, lambda body, future, _: self._answered(body, future, incarnation), lowest=lowest
        )
        future.add_listener(lambda _: None, lambda error: self._failed(error, incarnation))
        member.heartbeat_generated()

    def leave(self, generation: Generation, epoch: int) -> None:
        """Send the last heartbeat, also while another one is outstanding. Nothing waits for its response."""
        build = self.contents.leave(generation, epoch)
        self._member.ask(_API, build, _complete)

    def end(self) -> None:
        """Note that an incarnation of the member has ended. The next one says everything, and at once."""
        self.contents.reset()
        self.times.ended()
        self.times.at_once()

    # Responses

    def _answered(self, body: Message, future: RequestFuture[None], incarnation: int) -> None:
        error = error_for(int(body.error_code))
        future.complete(None)
        if incarnation != self._member.incarnation:
            return
        self.times.ended()
        if error.code:
            self._rebalance_failed(error.name)
            self._refused(error)
            return
        self.times.answered(body.heartbeat_interval // timedelta(milliseconds=1))
        assignment = None if body.assignment is None else told(body.assignment)
        self._member.accepted(int(body.member_epoch), assignment)

    def _refused(self, error: KafkaError) -> None:
        member = self._member
        self.contents.reset()
        if error.name in _FENCED:
            # A member that joins has no epoch to lose: to join again without a pause would not help.
            is_joining = member.state is MembershipState.JOINING
            member.fence(error.name)
            if is_joining:
                self.times.failed()
        elif error.name in _ANOTHER_COORDINATOR:
            member.lookup.lost(f"ConsumerGroupHeartbeat: {error.name}")
            self.times.failed()
        elif error.name == "TOPIC_AUTHORIZATION_FAILED":
            member.report(group_error(error, _API, member.group_id))
            self.times.failed()
        elif error.name in _FATAL:
            member.fail(group_error(error, _API, member.group_id))
        elif error.retriable:
            self.times.failed()
        else:
            member.fail(unexpected_error(error, _API, member.group_id))

    def _failed(self, error: Exception, incarnation: int) -> None:
        """The request was lost, or could not be sent."""
        if incarnation != self._member.incarnation:
            return
        self.times.ended()
        self.contents.reset()
        if getattr(error, "retriable", False):
            self.times.failed()
        else:
            self._rebalance_failed(error_name(error))
            self._member.fail(error)

    def _rebalance_failed(self, error: str) -> None:
        """Note an error that the coordinator gave during a reconciliation, as Java does whatever it means."""
        if self._member.state is MembershipState.RECONCILING:
            self._member.rebalance_failed(error)


def _complete(body: Message, future: RequestFuture[None], sent: Generation) -> None:
    future.complete(None)
