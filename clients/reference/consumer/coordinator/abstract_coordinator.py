"""AbstractCoordinator: membership in a classic group (join, sync, heartbeat, leave), without what members are assigned.

A rebalance is one future, from JoinGroup to the response of SyncGroup. A call of the application waits for it and may
give up waiting, for example at its limit or by a wakeup. The future stays, and the next poll goes on with it.
Heartbeats and the leader's assignment run in ``step``, which every network round calls, so they do not depend on the
application.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence

from clients.reference.common.requests import Message
from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.calls import Call, Clock, Timer, sleep
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.reference.consumer.coordinator.commit_responses import not_a_member
from clients.reference.consumer.coordinator.generation import NO_GENERATION, Generation
from clients.reference.consumer.coordinator.group_errors import group_error
from clients.reference.consumer.coordinator.group_member import DEFAULT, LEAVE_GROUP, GroupMember
from clients.reference.consumer.coordinator.group_requests import (
    heartbeat_request,
    join_group_request,
    leave_group_request,
)
from clients.reference.consumer.coordinator.heartbeat import Heartbeat
from clients.reference.consumer.coordinator.member_states import MEMBER, MemberEvent, MemberState
from clients.reference.consumer.coordinator.rebalance_responses import RebalanceResponses
from clients.reference.consumer.errors import (
    CommitFailedError,
    ConsumerError,
    FencedInstanceIdError,
    IllegalGenerationError,
    MemberIdRequiredError,
    RebalanceInProgressError,
    UnknownMemberIdError,
    error_name,
)
from clients.reference.consumer.request_future import RequestFuture
from clients.reference.errors import AuthenticationError
from clients.reference.ports import Jitter
from clients.reference.telemetry.trace import RejoinRequested, StateChanged, Trace
from harness.wire.apis import Api, api_name
from harness.wire.error_table import KafkaError, error_for

JOIN_GROUP_LAPSE_MS = 5_000
_JOIN_AGAIN_AT_ONCE = (
    UnknownMemberIdError,
    IllegalGenerationError,
    RebalanceInProgressError,
    MemberIdRequiredError,
)


class AbstractCoordinator(GroupMember):
    """One member of group ``group_id``. Every transition goes through the MEMBER table and is traced."""

    heartbeat_clock: type[Heartbeat] = Heartbeat  # variants of the client replace these
    responses: type[RebalanceResponses] = RebalanceResponses

    def __init__(
        self,
        config: ConsumerConfig,
        group_id: str,
        client: ConsumerNetworkClient,
        clock: Clock,
        jitter: Jitter,
        trace: Trace,
    ) -> None:
        self.heartbeat = self.heartbeat_clock(config, clock, jitter)
        on_coordinator = self.heartbeat.reset_session_timeout
        super().__init__(config, group_id, client, clock, jitter, trace, on_coordinator)
        self._responses = self.responses(self)
        self.state = MEMBER.initial
        self._rejoin_needed = True
        self._rejoin_reason = ""
        self._needs_join_prepare = True
        self._join_future: RequestFuture[bytes] | None = None
        self._heartbeats_enabled = False
        self._heartbeat_error: Exception | None = None

    # What a subclass defines

    @abstractmethod
    def join_protocols(self) -> Sequence[tuple[str, bytes]]:
        """Return the protocols for JoinGroup: names, and this member's metadata for each."""

    @abstractmethod
    def on_join_prepare(self, timer: Timer) -> Call[bool]:
        """Prepare for a new generation. Return False if that needs more time than ``timer`` has."""

    @abstractmethod
    def on_leader_elected(self, answer: Message) -> Mapping[str, bytes] | None:
        """Return the assignment of all members for a JoinGroup response, or None if metadata for it are missing."""

    @abstractmethod
    def on_join_complete(self, assignment: bytes) -> Call[None]:
        """Apply this member's assignment."""

    @abstractmethod
    def on_leave_prepare(self) -> Call[None]:
        """Give everything up, as the member leaves."""

    # State

    def move(self, event: MemberEvent, detail: str = "") -> None:
        """Make a transition. Raise IllegalTransition if the table has none."""
        before = self.state
        self.state = MEMBER.after(before, event)
        self._trace(
            StateChanged(
                at_ms=self._clock.now_ms,
                machine=MEMBER.name,
                subject=self.group_id,
                before=before.told,
                cause=event.told,
                after=self.state.told,
                detail=detail,
            )
        )

    @property
    def rebalance_in_progress(self) -> bool:
        """Whether a JoinGroup or SyncGroup is not answered."""
        return self.state in (MemberState.PREPARING_REBALANCE, MemberState.COMPLETING_REBALANCE)

    @property
    def stable_generation(self) -> Generation | None:
        """The generation, or None while the member has no assignment in it."""
        return self.generation if self.state is MemberState.STABLE else None

    def request_rejoin(self, reason: str) -> None:
        """Join again in one of the next polls."""
        self._rejoin_reason, self._rejoin_needed = reason, True
        self._trace(RejoinRequested(at_ms=self._clock.now_ms, reason=reason))

    def request_rejoin_if_necessary(self, reason: str) -> None:
        """Join again in one of the next polls, unless that is planned already."""
        if not self._rejoin_needed:
            self.request_rejoin(reason)

    def rejoin_needed_or_pending(self) -> bool:
        """Return whether a poll must go on with a rebalance."""
        return self._rejoin_needed or self._join_future is not None

    def reset_and_rejoin(self, reason: str, *, reset_member_id: bool) -> None:
        """Lose the generation, and the member id if that is no longer valid. Join again (CSM-GRP-07)."""
        self.move(MemberEvent.RESET, reason)
        self.generation = (
            NO_GENERATION if reset_member_id else Generation(member_id=self.generation.member_id)
        )
        self.request_rejoin(reason)
        self._needs_join_prepare = True

    def reset_on_error(self, api: Api, error: KafkaError) -> None:
        """Lose the generation because of an error. The member keeps its id only after ILLEGAL_GENERATION."""
        self.reset_and_rejoin(
            f"{api_name(api)} was answered with {error.name}",
            reset_member_id=error.name != "ILLEGAL_GENERATION",
        )

    # Commits

    def commit_refused(self, error: KafkaError, sent: Generation) -> ConsumerError | None:
        """Return what an error of OffsetCommit means for the member, and do what it demands (CSM-OFC-03)."""
        if error.name == "REBALANCE_IN_PROGRESS":
            self.request_rejoin("a commit was refused because the group is rebalancing")
            return RebalanceInProgressError(
                "commit-during-rebalance", "the group rebalances: poll, then commit again"
            )
        if error.name == "FENCED_INSTANCE_ID":
            return self._outdated() if self.generation != sent else None
        if error.name not in ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"):
            return None
        if self.generation == sent:
            self.reset_on_error(Api.OFFSET_COMMIT, error)
        elif self.state is MemberState.PREPARING_REBALANCE:
            return self._outdated()
        return not_a_member(error)

    def _outdated(self) -> ConsumerError:
        """The request's generation is over, but the member may be on its way to the next one."""
        if self.state is MemberState.PREPARING_REBALANCE:
            return RebalanceInProgressError(
                "commit-of-an-old-generation", "the group has rebalanced since: poll, then commit again"
            )
        return CommitFailedError(
            "commit-of-no-member", "the group has rebalanced, and the partitions may have other owners"
        )

    # Joining

    def ensure_active_group(self, timer: Timer) -> Call[bool]:
        """Wait until the member has its assignment. Return whether it has before ``timer`` expired."""
        if not (yield from self.lookup.ensure_ready(timer)):
            return False
        return (yield from self.join_group_if_needed(timer))

    def join_group_if_needed(self, timer: Timer) -> Call[bool]:
        """Rebalance as often as necessary. Return whether the member is done with it before ``timer`` expired."""
        while self.rejoin_needed_or_pending():
            if not (yield from self.lookup.ensure_ready(timer)):
                return False
            if self._needs_join_prepare:
                self._needs_join_prepare = False
                if not (yield from self.on_join_prepare(timer)):
                    self._needs_join_prepare = True
                    return False
            future = self._initiate_join_group()
            yield from self._client.await_future(future, timer)
            if not future.is_done:
                return False
            if future.succeeded:
                yield from self._complete_join(future.value)
            else:
                error = future.error
                self._join_future = None
                if not isinstance(error, MemberIdRequiredError):
                    self.request_rejoin(f"rebalance failed due to {error_name(error)}")
                if isinstance(error, _JOIN_AGAIN_AT_ONCE):
                    continue
                if not future.is_retriable:
                    raise error
                if timer.is_expired:
                    return False
                yield from sleep(timer, self._config.retry_backoff_ms)
        return True

    def _complete_join(self, assignment: bytes) -> Call[None]:
        """Apply the assignment, unless the generation was lost since.

        If the application's listener raises, the future stays, so that the next poll completes the rebalance.
        """
        if self.generation.is_reset or self.state is not MemberState.STABLE:
            self.reset_and_rejoin("the generation was lost before it was applied", reset_member_id=True)
            self._join_future = None
            return
        yield from self.on_join_complete(assignment)
        self._join_future = None
        self._needs_join_prepare = True

    def _initiate_join_group(self) -> RequestFuture[bytes]:
        if self._join_future is None:
            self.move(MemberEvent.JOIN, self._rejoin_reason)
            self._join_future = self._send_join_group()
            self._join_future.add_listener(
                lambda _: None, lambda error: self.rebalance_failed(error_name(error))
            )
        return self._join_future

    def _send_join_group(self) -> RequestFuture[bytes]:
        config = self._config
        build = join_group_request(
            self.group_id,
            self.generation.member_id,
            self.instance_id,
            self.join_protocols(),
            session_timeout_ms=config.session_timeout_ms,
            rebalance_timeout_ms=config.max_poll_interval_ms,
            reason=self._rejoin_reason,
        )
        limit_ms = max(config.request_timeout_ms, config.max_poll_interval_ms + JOIN_GROUP_LAPSE_MS)
        return self.ask(Api.JOIN_GROUP, build, self._responses.join_group, timeout_ms=limit_ms)

    def joined(self, generation: Generation) -> None:
        """JoinGroup has succeeded. From now on the member sends heartbeats (CSM-GRP-05)."""
        self.move(MemberEvent.JOINED)
        self.generation = generation
        self._heartbeats_enabled = True
        self.heartbeat.reset_timeouts()

    def synced(self) -> None:
        """SyncGroup has succeeded."""
        self.move(MemberEvent.SYNCED)
        self._rejoin_reason, self._rejoin_needed = "", False

    # Heartbeats

    def step(self) -> int | None:
        """Do what does not depend on the application. Return when to come again, or None."""
        self._responses.assign_as_leader()
        if not self._heartbeats_enabled or self.state.has_not_joined or self._heartbeat_error is not None:
            self._heartbeats_enabled = False
            return None
        if self.lookup.is_unknown:
            return self.lookup.find_in_background()
        if self.heartbeat.session_expired:
            self.lookup.lost("no heartbeat was answered for session.timeout.ms")
            return self.lookup.find_in_background()
        if self.heartbeat.poll_expired:
            self.maybe_leave_group("max.poll.interval.ms is over without a poll")
            return None
        if self.heartbeat.is_due:
            self._send_heartbeat()
        return self.heartbeat.next_ms

    def _send_heartbeat(self) -> None:
        self.heartbeat.sent()
        build = heartbeat_request(self.group_id, self.generation, self.instance_id)
        future: RequestFuture[None] = self.ask(Api.HEARTBEAT, build, self._responses.heartbeat)
        future.add_listener(lambda _: self.heartbeat.received(), self._heartbeat_failed)

    def _heartbeat_failed(self, error: Exception) -> None:
        if isinstance(error, RebalanceInProgressError):
            self.heartbeat.received()
        elif isinstance(error, FencedInstanceIdError | AuthenticationError):
            self._heartbeat_error = error
        else:
            self.heartbeat.failed()

    def poll_heartbeat(self) -> None:
        """Note that the application polls. Raise what ended the heartbeats."""
        if self._heartbeat_error is not None:
            error, self._heartbeat_error = self._heartbeat_error, None
            raise error
        self.heartbeat.polled()

    def next_heartbeat_ms(self) -> int | None:
        """Return when the next heartbeat is due, or None if there are none."""
        return None if self.state.has_not_joined else self.heartbeat.due_ms

    # Leaving

    def maybe_leave_group(self, reason: str, operation: str = DEFAULT) -> RequestFuture[None] | None:
        """Send LeaveGroup if that is due, and lose the generation. Return its future, or None."""
        wants = operation == LEAVE_GROUP or (operation == DEFAULT and self.is_dynamic)
        is_member = self.state is not MemberState.UNJOINED and self.generation.member_id != ""
        future: RequestFuture[None] | None = None
        if wants and is_member and not self.lookup.is_unknown:
            build = leave_group_request(self.group_id, self.generation.member_id, reason)
            future = self.ask(Api.LEAVE_GROUP, build, self._leave_answered)
            self._client.transmit_sends(self._clock.now_ms)
        self.reset_and_rejoin(reason, reset_member_id=True)
        return future

    def _leave_answered(self, body: Message, future: RequestFuture[None], sent: Generation) -> None:
        codes = [
            int(getattr(body, "error_code", 0)),
            *(int(each.error_code) for each in getattr(body, "members", ())),
        ]
        error = error_for(next((code for code in codes if code), 0))
        if error.code:
            future.fail(group_error(error, Api.LEAVE_GROUP, self.group_id))
        else:
            future.complete(None)

    def close(self, timer: Timer, operation: str = DEFAULT) -> Call[None]:
        """End the heartbeats, give everything up, leave if that is due, and wait for what is pending until then.

        An exception of the listener is raised at the end.
        """
        self._heartbeats_enabled = False
        try:
            yield from self.on_leave_prepare()
        finally:
            self.maybe_leave_group("the consumer is being closed", operation)
            node_id = self.lookup.node_id()
            if node_id is not None:
                yield from self._client.await_pending(node_id, timer)
