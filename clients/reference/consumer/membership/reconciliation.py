"""One reconciliation: what a member must give up and take over to reach its target, and the commit before that.

The order is CSM-NGP-04: stop what will be revoked, commit, revoke, assign, acknowledge. The plan stays as it is while
the commit is in flight, also if the coordinator wants something else meanwhile: that is the next reconciliation.
"""

from __future__ import annotations

from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.calls import Clock
from clients.reference.consumer.coordinator.offset_commits import OffsetCommits
from clients.reference.consumer.errors import StaleMemberEpochError
from clients.reference.consumer.membership.assignments import Assignment
from clients.reference.consumer.request_future import RequestFuture
from clients.reference.consumer.subscription.positions import TopicPartition
from clients.reference.consumer.subscription.subscription_state import SubscriptionState


class CommitBeforeRevocation:
    """The automatic commit of a reconciliation. It is repeated with the member's newest epoch (CSM-OFC-04)."""

    def __init__(self, config: ConsumerConfig, commits: OffsetCommits, clock: Clock) -> None:
        self._commits = commits
        self._clock = clock
        self._backoff_ms = config.retry_backoff_ms
        self._until_ms = clock.now_ms + config.max_poll_interval_ms
        self._future: RequestFuture[None] | None = (
            commits.auto_commit() if config.enable_auto_commit else None
        )
        #: When a commit that failed is due again, or None.
        self.again_ms: int | None = None

    def is_over(self) -> bool:
        """Return whether the reconciliation may go on: nothing is left to commit, or it took too long."""
        now_ms = self._clock.now_ms
        if self.again_ms is not None and self.again_ms <= now_ms < self._until_ms:
            self.again_ms, self._future = None, self._commits.auto_commit()
        if self._future is None or now_ms >= self._until_ms:
            return True
        if not self._future.is_done or self.again_ms is not None:
            return False
        if self._future.failed and (
            self._future.is_retriable or isinstance(self._future.error, StaleMemberEpochError)
        ):
            self.again_ms = now_ms + self._backoff_ms
            return False
        return True


class Reconciliation:
    """The way from what ``subscriptions`` has to ``names``, the partitions of ``target`` whose names are known.

    ``added`` are those for which the application's callback must run. ``revoked`` stop at once.
    """

    def __init__(
        self,
        target: Assignment,
        names: frozenset[TopicPartition],
        subscriptions: SubscriptionState,
    ) -> None:
        self.target = target
        self._subscriptions = subscriptions
        owned = subscriptions.assigned
        self.revoked = [each for each in owned if each not in names]
        self._kept = [each for each in owned if each in names]
        self.added = sorted(names - {each for each in self._kept if not self._awaits_callback(each)})
        subscriptions.mark_pending_revocation(self._kept, pending=False)
        subscriptions.mark_pending_revocation(self.revoked)

    def _awaits_callback(self, partition: TopicPartition) -> bool:
        state = self._subscriptions.state(partition)
        return state is not None and state.is_pending_assigned_callback

    def apply(self) -> None:
        """Adopt the partitions. Those that are new are not read before their callback has run."""
        self._subscriptions.assign_from_subscribed(dict.fromkeys([*self._kept, *self.added]))
        self._subscriptions.set_pending_assigned_callback(self.added, True)

    def finish(self) -> None:
        """Let the new partitions be read: their callback has run."""
        self._subscriptions.set_pending_assigned_callback(self.added, False)
