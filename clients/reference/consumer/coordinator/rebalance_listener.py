"""The application's listener of rebalances, and its invocation (ConsumerRebalanceListener, ...ListenerInvoker)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

from clients.reference.consumer.calls import Call, Clock, Invoke
from clients.reference.consumer.errors import ConsumerError, WakeupError
from clients.reference.consumer.subscription.positions import TopicPartition
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.reference.telemetry.trace import CallbackFailed, ListenerReturned, PartitionsGivenUp, Trace


class ConsumerRebalanceListener(Protocol):
    """What an application implements. The methods run on its own thread, inside poll, unsubscribe or close.

    They may use the consumer, for example to commit. ``on_partitions_lost`` is optional: without it, lost partitions
    are reported as revoked.
    """

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
        """The partitions that are new. Called after every rebalance, also with an empty list."""

    def on_partitions_revoked(self, partitions: list[TopicPartition]) -> None:
        """The partitions that the consumer gives up. Their offsets can still be committed."""


def names(partitions: Collection[TopicPartition]) -> list[str]:
    """Return ``topic-partition`` of each, sorted."""
    return [f"{topic}-{index}" for topic, index in sorted(partitions)]


class RebalanceListenerInvoker:
    """Calls the listener of the subscription, if there is one, and returns the exception that it raised, if any.

    A wakeup is not the listener's error, and is raised.
    """

    def __init__(self, subscriptions: SubscriptionState, clock: Clock, trace: Trace) -> None:
        self._subscriptions = subscriptions
        self._clock = clock
        self._trace = trace

    def assigned(self, partitions: Collection[TopicPartition]) -> Call[Exception | None]:
        """Report new partitions."""
        listener = self._subscriptions.listener
        if listener is None:
            return None
        return (yield from self._timed("assigned", listener.on_partitions_assigned, partitions))

    def revoked(self, partitions: Collection[TopicPartition]) -> Call[Exception | None]:
        """Report partitions that the consumer gives up."""
        return (yield from self._give_up("on_partitions_revoked", partitions, lost=False))

    def lost(self, partitions: Collection[TopicPartition]) -> Call[Exception | None]:
        """Report partitions that others may own already (CSM-GRP-12)."""
        return (yield from self._give_up("on_partitions_lost", partitions, lost=True))

    def _give_up(
        self, method: str, partitions: Collection[TopicPartition], *, lost: bool
    ) -> Call[Exception | None]:
        self._trace(PartitionsGivenUp(at_ms=self._clock.now_ms, partitions=names(partitions), lost=lost))
        listener = self._subscriptions.listener
        if listener is None:
            return None
        call = getattr(listener, method, None) or listener.on_partitions_revoked
        return (yield from self._timed("lost" if lost else "revoked", call, partitions))

    def _timed(
        self, what: str, call: Callable[[list[TopicPartition]], None], partitions: Collection[TopicPartition]
    ) -> Call[Exception | None]:
        began_ms = self._clock.now_ms
        error = yield from self._invoke(call, partitions)
        if error is None:
            now_ms = self._clock.now_ms
            self._trace(ListenerReturned(at_ms=now_ms, what=what, elapsed_ms=now_ms - began_ms))
        return error

    def _invoke(
        self, call: Callable[[list[TopicPartition]], None], partitions: Collection[TopicPartition]
    ) -> Call[Exception | None]:
        given = sorted(partitions)
        try:
            yield Invoke(lambda: call(given))
        except WakeupError:
            raise
        except Exception as raised:
            what = f"{type(raised).__name__}: {raised}"
            self._trace(CallbackFailed(at_ms=self._clock.now_ms, who="rebalance listener", what=what))
            return raised
        return None


def raise_wrapped(error: Exception | None) -> None:
    """Raise a listener's exception from poll: errors of the consumer as they are, others wrapped (CSM-GRP-13)."""
    if error is None:
        return
    if isinstance(error, ConsumerError):
        raise error
    raise ConsumerError(
        "rebalance-listener-failed",
        "the rebalance listener raised {type}: {why}",
        type=type(error).__name__,
        why=error,
    ) from error
