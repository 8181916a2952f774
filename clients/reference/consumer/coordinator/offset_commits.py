"""OffsetCommits: commits of the application and automatic ones (the commit half of ConsumerCoordinator).

A synchronous commit is repeated until its limit, an asynchronous one is not. Results of asynchronous commits wait in a
queue until the application is in a call of the consumer: callbacks and interceptors run on its thread, in the order of
the commits (CSM-OFC-02). So a commit that fails at once, such as that of no member, waits for those before it. Java's
promises the same, and reports such a failure before them. Automatic commits cover what earlier polls returned and was
not given up since.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from clients.reference.common.backoff import ExponentialBackoff
from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.calls import Call, Clock, Invoke, Timer, sleep
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.reference.consumer.coordinator.commit_responses import CommitResponses, Offsets
from clients.reference.consumer.coordinator.generation import NO_GENERATION
from clients.reference.consumer.coordinator.group_member import GroupMember
from clients.reference.consumer.coordinator.group_requests import BY_NAME_HIGHEST, offset_commit_request
from clients.reference.consumer.errors import (
    CommitFailedError,
    FencedInstanceIdError,
    RebalanceInProgressError,
    RetriableCommitFailedError,
    WakeupError,
    error_name,
)
from clients.reference.consumer.request_future import RequestFuture
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.reference.ports import Jitter
from clients.reference.telemetry.trace import CallbackFailed, OffsetCommitEnded, Trace
from harness.wire.apis import Api

OffsetCommitCallback = Callable[[Offsets, Exception | None], None]
OnCommit = Callable[[Offsets], None]


@dataclass(frozen=True, slots=True)
class Commit:
    """An asynchronous commit. Its callback runs once it has its result, and those before it have theirs."""

    offsets: Offsets
    callback: OffsetCommitCallback | None
    result: RequestFuture[None] = field(default_factory=RequestFuture)


class OffsetCommits:
    """The commits of one consumer. ``on_commit`` is called, like a callback, after each successful one."""

    responses: type[CommitResponses] = CommitResponses  # a variant of the client replaces it

    def __init__(
        self,
        config: ConsumerConfig,
        member: GroupMember,
        client: ConsumerNetworkClient,
        subscriptions: SubscriptionState,
        clock: Clock,
        jitter: Jitter,
        trace: Trace,
        on_commit: OnCommit | None = None,
    ) -> None:
        self._config = config
        self._member = member
        self._client = client
        self._subscriptions = subscriptions
        self._clock = clock
        self._trace = trace
        self._on_commit = on_commit
        self._backoff = ExponentialBackoff(config.retry_backoff_ms, config.retry_backoff_max_ms, jitter)
        self._handle = self.responses(member).answered
        self._commits: deque[Commit] = deque()
        self._in_flight = 0
        self._waiting_for_coordinator = 0
        self._fenced: Exception | None = None
        self._auto_commit_ms = clock.now_ms + config.auto_commit_interval_ms

    # Callbacks

    def run_callbacks(self) -> Call[None]:
        """Run the callbacks of the asynchronous commits up to the first in progress. Raise if the member was fenced."""
        if self._fenced is not None:
            raise self._fenced
        while self._commits and self._commits[0].result.is_done:
            ended = self._commits.popleft()
            if ended.result.succeeded:
                yield from self._intercepted(ended.offsets)
            if ended.callback is not None:
                error = ended.result.error if ended.result.failed else None
                yield Invoke(partial(ended.callback, ended.offsets, error))

    def _intercepted(self, offsets: Offsets) -> Call[None]:
        on_commit = self._on_commit
        if on_commit is not None and offsets:
            yield Invoke(lambda: on_commit(offsets))

    # Asynchronous commits

    def commit_async(
        self, offsets: Offsets, callback: OffsetCommitCallback | None = None
    ) -> Call[RequestFuture[None]]:
        """Commit once, without waiting. ``callback`` gets the offsets and the error, in a later call (CSM-OFC-01)."""
        yield from self.run_callbacks()
        return self._commit_async(dict(offsets), callback)

    def _commit_async(self, offsets: Offsets, callback: OffsetCommitCallback | None) -> RequestFuture[None]:
        commit = Commit(offsets, callback)
        self._commits.append(commit)
        if not offsets or not self._member.lookup.is_unknown:
            self._send_async(commit)
        else:
            self._waiting_for_coordinator += 1

            def found(_: None) -> None:
                self._waiting_for_coordinator -= 1
                self._send_async(commit)

            def not_found(error: Exception) -> None:
                self._waiting_for_coordinator -= 1
                self._ended(commit, error)

            self._member.lookup.find().add_listener(found, not_found)
        self._client.transmit_sends(self._clock.now_ms)
        return commit.result

    def _send_async(self, commit: Commit) -> None:
        self._in_flight += 1

        def ended(error: Exception | None) -> None:
            self._in_flight -= 1
            self._ended(commit, error)

        self._send(commit.offsets).add_listener(lambda _: ended(None), ended)

    def _ended(self, commit: Commit, error: Exception | None) -> None:
        told = error
        if error is not None and getattr(error, "retriable", False):
            told = RetriableCommitFailedError(
                "commit-failed-retriable", "the commit failed and can be repeated: {why}", why=error
            )
            told.__cause__ = error
        if isinstance(told, FencedInstanceIdError):
            self._fenced = told
        if told is None:
            commit.result.complete(None)
        else:
            commit.result.fail(told)

    # Synchronous commits

    def commit_sync(self, offsets: Offsets, timer: Timer) -> Call[bool]:
        """Commit, and repeat what fails retriably until ``timer`` expires. Return whether the commit succeeded.

        Callbacks of earlier asynchronous commits run before (CSM-OFC-02). Raise errors that are not retriable.
        """
        yield from self.run_callbacks()
        if not offsets:
            return (yield from self._await_async(timer))
        offsets, attempts = dict(offsets), 0
        while True:
            if not (yield from self._member.lookup.ensure_ready(timer)):
                return False
            future = self._send(offsets)
            yield from self._client.await_future(future, timer)
            yield from self.run_callbacks()
            if future.succeeded:
                yield from self._intercepted(offsets)
                return True
            if future.failed and not future.is_retriable:
                raise future.error
            yield from sleep(timer, self._backoff.delay_ms(attempts))
            attempts += 1
            if timer.is_expired:
                return False

    def _await_async(self, timer: Timer) -> Call[bool]:
        """Wait for the results of the asynchronous commits in flight."""
        while self._in_flight and not timer.is_expired:
            yield from self._member.lookup.ensure_ready(timer)
            yield from self._client.wait(timer, is_done=lambda: self._in_flight == 0)
            yield from self.run_callbacks()
        return self._in_flight == 0

    # Requests

    def _send(self, offsets: Offsets) -> RequestFuture[None]:
        """Send a commit, with the member's generation if the group assigns the partitions (CSM-OFC-05)."""
        if not offsets:
            return RequestFuture.of_value(None)
        member, generation, instance_id = self._member, NO_GENERATION, None
        if self._subscriptions.has_auto_assigned_partitions:
            stable = member.stable_generation
            if stable is None:
                return RequestFuture.of_error(self._not_a_member())
            generation, instance_id = stable, member.instance_id
        build = offset_commit_request(member.group_id, generation, instance_id, offsets)
        future: RequestFuture[None] = member.ask(
            Api.OFFSET_COMMIT,
            build,
            lambda body, future, _: self._handle(body, future, generation),
            highest=BY_NAME_HIGHEST[Api.OFFSET_COMMIT],
        )
        future.add_listener(
            lambda _: self._trace_end(offsets, None), lambda error: self._trace_end(offsets, error)
        )
        return future

    def _not_a_member(self) -> Exception:
        if self._member.rebalance_in_progress:
            return RebalanceInProgressError(
                "commit-during-rebalance", "the group rebalances: poll, then commit again"
            )
        return CommitFailedError("commit-of-no-member", "the consumer is not a member of an active group")

    def _trace_end(self, offsets: Offsets, error: Exception | None) -> None:
        self._trace(
            OffsetCommitEnded(
                at_ms=self._clock.now_ms,
                offsets={f"{topic}-{index}": stored.offset for (topic, index), stored in offsets.items()},
                error="" if error is None else error_name(error),
            )
        )

    # Automatic commits

    def maybe_auto_commit(self) -> None:
        """Commit what was consumed if auto.commit.interval.ms is over (CSM-ACM-02)."""
        if self._config.enable_auto_commit and self._clock.now_ms >= self._auto_commit_ms:
            self.reset_auto_commit()
            self.auto_commit()

    def auto_commit(self) -> RequestFuture[None]:
        """Commit what was consumed. After a retriable failure, do it again after the retry backoff (CSM-ACM-03)."""

        def failed(error: Exception) -> None:
            if isinstance(error, RetriableCommitFailedError):
                self._auto_commit_ms = self._clock.now_ms + self._config.retry_backoff_ms

        future = self._commit_async(self._subscriptions.all_consumed(), None)
        future.add_listener(lambda _: None, failed)
        return future

    def auto_commit_sync(self, timer: Timer) -> Call[None]:
        """Commit what was consumed, as part of ``close``. A failure is traced and does not stop the caller."""
        if not self._config.enable_auto_commit:
            return
        try:
            yield from self.commit_sync(self._subscriptions.all_consumed(), timer)
        except WakeupError:
            raise
        except Exception as raised:
            what = f"{type(raised).__name__}: {raised}"
            self._trace(CallbackFailed(at_ms=self._clock.now_ms, who="auto-commit", what=what))

    def reset_auto_commit(self) -> None:
        """Start the interval again."""
        self._auto_commit_ms = self._clock.now_ms + self._config.auto_commit_interval_ms

    def next_auto_commit_ms(self) -> int | None:
        """Return when the next automatic commit is due, or None."""
        return self._auto_commit_ms if self._config.enable_auto_commit else None

    # Closing

    def close(self, timer: Timer) -> Call[None]:
        """Commit what was consumed if that is automatic, and finish the commits that wait for a coordinator."""
        yield from self.auto_commit_sync(timer)
        while self._waiting_for_coordinator and not timer.is_expired:
            yield from self._member.lookup.ensure_ready(timer)
            yield from self._client.wait(timer)
            yield from self.run_callbacks()
