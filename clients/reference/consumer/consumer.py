"""ConsumerCore: the whole consumer without I/O, clock, threads or randomness (ClassicKafkaConsumer in Java).

Methods that may wait are calls: generators that the driver runs to their end, one at a time (see calls.py). Between
and during them the driver calls ``run_once(now_ms)`` after network events and at the time that the last call returned.
The same core serves threads and sockets (transport/) and virtual time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from re import Pattern
from typing import Any

from clients.reference.common.earliest import earliest
from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.calls import Call, Clock, Timer, invoke
from clients.reference.consumer.components import Components, Parts
from clients.reference.consumer.consumer_plugins import ConsumerPlugins
from clients.reference.consumer.consumer_record import ConsumerRecords
from clients.reference.consumer.coordinator.generation import ConsumerGroupMetadata
from clients.reference.consumer.coordinator.group_member import DEFAULT
from clients.reference.consumer.errors import ConsumerError
from clients.reference.consumer.fetch.fetch_collector import Fetch
from clients.reference.consumer.offset_calls import OffsetCalls
from clients.reference.consumer.subscription.positions import TopicPartition
from clients.reference.errors import AuthenticationError, IllegalStateError
from clients.reference.ports import Jitter, Selector
from clients.reference.telemetry.trace import Trace, no_trace

__all__ = ["CLOSE_TIMEOUT_MS", "Components", "ConsumerCore"]

CLOSE_TIMEOUT_MS = 30_000


class ConsumerCore(OffsetCalls):
    """A consumer for one thread at a time. ``now_ms`` is any monotonic clock, ``wall_ms`` returns Unix time, in ms."""

    def __init__(
        self,
        config: ConsumerConfig,
        selector: Selector,
        *,
        jitter: Jitter,
        wall_ms: Callable[[], int],
        now_ms: int = 0,
        trace: Trace = no_trace,
        components: Components | None = None,
        plugins: ConsumerPlugins | None = None,
    ) -> None:
        made = components or Components()
        plugins = plugins or made.plugins(config)
        clock = Clock(now_ms)
        super().__init__(config, clock, Parts(config, selector, plugins, clock, wall_ms, jitter, trace, made))
        self._interceptors = plugins.interceptors
        self._parts.metadata.on_cluster_id = plugins.cluster_updated

    # For the driver

    def at(self, now_ms: int) -> None:
        """Set the time. The driver does it before each step of a call."""
        self._clock.now_ms = now_ms

    def run_once(self, now_ms: int) -> int | None:
        """Run one network round, and everything that does not need the application, such as heartbeats.

        Return the time of the next round, which may be now. None if only the network or a call can cause more work.
        """
        self.at(now_ms)
        if self.is_closed:
            return None
        network, coordinator = self._parts.network, self._parts.coordinator
        network.poll(now_ms, wakeup=False)
        due_ms = None
        if coordinator is not None:
            due_ms = coordinator.step()
            network.transmit_sends(now_ms)
        return earliest(network.next_deadline_ms(), due_ms)

    @property
    def has_unsent(self) -> bool:
        """Whether a call has left requests for the next round, such as LeaveGroup."""
        return self._parts.network.has_unsent

    @property
    def progress(self) -> tuple[int, int]:
        """A value that changes when a round has brought something that a call may wait for."""
        return self._parts.network.outcomes, self._parts.metadata.update_version

    @property
    def assignment_id(self) -> int:
        """A number that changes with every assignment."""
        return self._parts.subscriptions.assignment_id

    def read_replicas(self) -> dict[str, int]:
        """Return the node that each assigned ``topic-partition`` is read from instead of its leader, or else -1.

        May be called from any thread.
        """
        return self._parts.subscriptions.read_replicas()

    def wakeup(self) -> None:
        """Interrupt the current or the next call that waits. May be called from any thread (CSM-WKP-01)."""
        self._parts.network.wakeup()

    # Subscribing

    def subscribe(self, topics: Iterable[str], listener: Any = None) -> Call[None]:
        """Subscribe to topics, which replaces those before. Without topics, unsubscribe (CSM-API-01).

        Raise InvalidGroupIdError without a group.id, IllegalStateError for an empty name or another kind of
        subscription.
        """
        self._must_be_open()
        self._group("subscribe()")
        wanted = frozenset(topics)
        if not wanted:
            yield from self.unsubscribe()
            return
        if any(not topic.strip() for topic in wanted):
            raise IllegalStateError("topic-name-empty", "a topic to subscribe to must not be empty")
        subscriptions = self._parts.subscriptions
        changed = subscriptions.subscribe(wanted, listener)
        self._parts.fetcher.clear_buffered_data_for_unassigned(
            [each for each in subscriptions.assigned if each[0] in wanted]
        )
        if changed:
            self._parts.metadata.request_update_for_new_topics()

    def subscribe_pattern(self, pattern: Pattern[str], listener: Any = None) -> None:
        """Subscribe to all topics whose whole name matches, now and later. Raise as ``subscribe``."""
        self._must_be_open()
        coordinator = self._group("subscribe()")
        if not pattern.pattern:
            raise IllegalStateError("pattern-empty", "the pattern to subscribe to must not be empty")
        self._parts.subscriptions.subscribe_pattern(pattern, listener)
        coordinator.update_pattern_subscription()
        self._parts.metadata.request_update_for_new_topics()

    def assign(self, partitions: Iterable[TopicPartition]) -> Call[None]:
        """Assign partitions without a group, which replaces those before. Without partitions, unsubscribe."""
        self._must_be_open()
        wanted = list(dict.fromkeys(partitions))
        if not wanted:
            yield from self.unsubscribe()
            return
        if any(not topic.strip() for topic, _ in wanted):
            raise IllegalStateError("topic-name-empty", "a topic of a partition must not be empty")
        parts = self._parts
        if not (parts.subscriptions.has_nothing or parts.subscriptions.is_user_assigned):
            parts.subscriptions.assign_from_user(wanted)  # raises, and nothing has changed
        parts.fetcher.clear_buffered_data_for_unassigned(wanted)
        if parts.coordinator is not None:
            parts.coordinator.commits.maybe_auto_commit()
        if parts.subscriptions.assign_from_user(wanted):
            parts.metadata.request_update_for_new_topics()

    def unsubscribe(self) -> Call[None]:
        """Give up all partitions and the subscription, and leave the group."""
        self._must_be_open()
        parts = self._parts
        parts.fetcher.clear_buffered_data_for_unassigned([])
        try:
            if parts.coordinator is not None:
                yield from parts.coordinator.unsubscribe()
        finally:
            parts.subscriptions.unsubscribe()

    @property
    def assignment(self) -> set[TopicPartition]:
        """The partitions that the consumer reads."""
        self._must_be_open()
        return set(self._parts.subscriptions.assigned)

    @property
    def subscription(self) -> frozenset[str]:
        """The subscribed topics. Empty if the application assigned the partitions."""
        self._must_be_open()
        return self._parts.subscriptions.subscription

    def pause(self, partitions: Collection[TopicPartition]) -> None:
        """Return no records of partitions until ``resume``. Raise IllegalStateError if one is not assigned."""
        self._must_be_open()
        for partition in partitions:
            self._parts.subscriptions.pause(partition)

    def resume(self, partitions: Collection[TopicPartition]) -> None:
        """End the pause of partitions. Raise IllegalStateError if one is not assigned."""
        self._must_be_open()
        for partition in partitions:
            self._parts.subscriptions.resume(partition)

    @property
    def paused(self) -> set[TopicPartition]:
        """The paused partitions."""
        self._must_be_open()
        return self._parts.subscriptions.paused

    # Poll

    def poll(self, timeout_ms: int) -> Call[ConsumerRecords]:
        """Return records, or none after ``timeout_ms``, or none as soon as a position moved without any (CSM-API-02).

        Rebalances, their callbacks, commits and their callbacks happen in here. Raise IllegalStateError without a
        subscription or an assignment, WakeupError, and errors that the application must know of.
        """
        self._must_be_open()
        timer = Timer(self._clock, timeout_ms)
        if self._parts.subscriptions.has_nothing:
            raise IllegalStateError(
                "nothing-to-poll", "the consumer is not subscribed to any topics and has no partitions"
            )
        while True:
            self._parts.network.maybe_trigger_wakeup()
            yield from self._update_assignment(timer)
            fetch = yield from self._poll_for_fetches(timer)
            if not fetch.is_empty:
                return (yield from self._returned(fetch))
            if timer.is_expired:
                return ConsumerRecords({})

    def _update_assignment(self, timer: Timer) -> Call[None]:
        """Go on with a rebalance and with missing positions, as far as that is possible without waiting for others."""
        coordinator = self._parts.coordinator
        if coordinator is None or (yield from coordinator.poll(timer, wait_for_join=False)):
            yield from self._update_positions(timer)

    def _poll_for_fetches(self, timer: Timer) -> Call[Fetch]:
        parts, now_ms = self._parts, self._clock.now_ms
        fetch = yield from parts.fetcher.collect()
        if not fetch.is_empty:
            return fetch
        self._send_fetches()
        limit_ms = timer.remaining_ms
        next_ms = parts.coordinator.next_poll_ms() if parts.coordinator is not None else None
        if next_ms is not None:
            # What is overdue waits for a rebalance or a coordinator. To poll without a pause would not help.
            limit_ms = min(limit_ms, next_ms - now_ms if next_ms > now_ms else self._config.retry_backoff_ms)
        if not parts.subscriptions.has_all_positions:
            limit_ms = min(limit_ms, self._config.retry_backoff_ms)
        poll_timer = Timer(self._clock, limit_ms)
        yield from parts.network.wait(poll_timer, is_done=lambda: parts.fetcher.has_available_fetches)
        return (yield from parts.fetcher.collect())

    def _send_fetches(self) -> None:
        self._parts.validator.validate_on_metadata_change()
        self._parts.fetcher.send_fetches(self._clock.now_ms)

    def _returned(self, fetch: Fetch) -> Call[ConsumerRecords]:
        """Request the next records, so that they come while the application works, and return these.

        Their positions have moved. No error may prevent that they are returned: the next poll meets it again.
        """
        try:
            self._send_fetches()
            self._parts.network.transmit_sends(self._clock.now_ms)
        except (ConsumerError, AuthenticationError):
            pass
        records = ConsumerRecords(fetch.records, fetch.next_offsets)
        if not self._interceptors:
            return records
        return (yield from invoke(partial(self._interceptors.on_consume, records)))

    # Group

    @property
    def group_metadata(self) -> ConsumerGroupMetadata:
        """What a producer needs to commit this consumer's offsets in a transaction."""
        self._must_be_open()
        return self._group("group_metadata()").group_metadata

    def enforce_rebalance(self, reason: str = "the application asked for a rebalance") -> None:
        """Join the group again in the next poll."""
        self._must_be_open()
        self._group("enforce_rebalance()").enforce_rebalance(reason)

    # Close

    def close(self, timeout_ms: int = CLOSE_TIMEOUT_MS, operation: str = DEFAULT) -> Call[None]:
        """Commit if that is automatic, give the partitions up, leave the group, and end fetch sessions (CSM-API-05).

        It takes at most ``timeout_ms``, and the time of the application's callbacks. ``operation`` says whether the
        member leaves (KIP-1092). Raise IllegalStateError for a negative timeout, ConsumerError if a part failed.
        """
        if timeout_ms < 0:
            raise IllegalStateError("negative-timeout", "the timeout of close() must not be negative")
        if self.is_closed:
            return
        whole = Timer(self._clock, timeout_ms)
        parts, request_timeout_ms = self._parts, self._config.request_timeout_ms
        parts.network.disable_wakeups()
        errors: list[Exception] = []
        try:
            if parts.coordinator is not None:
                timer = Timer(self._clock, min(whole.remaining_ms, request_timeout_ms))
                yield from _kept(parts.coordinator.close(timer, operation), errors)
            timer = Timer(self._clock, min(whole.remaining_ms, request_timeout_ms))
            yield from _kept(parts.fetcher.close(timer), errors)
        finally:
            parts.network.close()
            self.is_closed = True
        if errors:
            raise ConsumerError(
                "close-failed", "closing the consumer failed: {why}", why=errors[0]
            ) from errors[0]


def _kept(call: Call[None], errors: list[Exception]) -> Call[None]:
    try:
        yield from call
    except Exception as raised:
        errors.append(raised)
