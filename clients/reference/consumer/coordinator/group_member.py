"""GroupMember: what a consumer and its offset commits need of a membership, in both group protocols.

Everything about the group goes to its coordinator, which ``lookup`` finds. ``generation`` says who sends: in a classic
group its id is the generation's, in a group of KIP-848 the member's epoch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from clients.reference.common.requests import Message
from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.calls import Call, Clock, Timer
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.reference.consumer.coordinator.coordinator_lookup import CoordinatorLookup
from clients.reference.consumer.coordinator.generation import (
    NO_GENERATION,
    ConsumerGroupMetadata,
    Generation,
)
from clients.reference.consumer.coordinator.group_requests import STATIC_LOWEST, Build
from clients.reference.consumer.errors import ConsumerError, CoordinatorNotAvailableError, DisconnectError
from clients.reference.consumer.request_future import RequestFuture
from clients.reference.ports import Jitter
from clients.reference.telemetry.trace import RebalanceFailed, Trace
from harness.wire.apis import Api
from harness.wire.error_table import KafkaError

if TYPE_CHECKING:
    from clients.reference.consumer.coordinator.offset_commits import OffsetCommits
    from clients.reference.consumer.coordinator.offset_fetches import OffsetFetches

T = TypeVar("T")
Handle = Callable[[Message, RequestFuture[T], Generation], None]

#: What close() does about the membership (KIP-1092): leave unless the member is static, always, or never.
DEFAULT, LEAVE_GROUP, REMAIN_IN_GROUP = "default", "leave-group", "remain-in-group"


class GroupMember(ABC):
    """One member of group ``group_id``. ``commits`` and ``fetches`` are the group's offsets.

    ``on_coordinator`` is called whenever a coordinator was found.
    """

    lookups: type[CoordinatorLookup] = CoordinatorLookup  # a variant of the client replaces it
    commits: OffsetCommits
    fetches: OffsetFetches
    #: What a producer needs to commit this consumer's offsets in a transaction.
    group_metadata: ConsumerGroupMetadata

    def __init__(
        self,
        config: ConsumerConfig,
        group_id: str,
        client: ConsumerNetworkClient,
        clock: Clock,
        jitter: Jitter,
        trace: Trace,
        on_coordinator: Callable[[], None],
    ) -> None:
        self._config = config
        self.group_id = group_id
        self.instance_id = config.group_instance_id
        self._client = client
        self._clock = clock
        self._trace = trace
        self.lookup = self.lookups(config, group_id, client, on_coordinator, clock, jitter, trace)
        self.generation = NO_GENERATION
        self.group_metadata = ConsumerGroupMetadata(group_id, group_instance_id=self.instance_id)

    # Who the member is

    @property
    def is_dynamic(self) -> bool:
        """Whether the member has no group.instance.id."""
        return self.instance_id is None

    @property
    @abstractmethod
    def stable_generation(self) -> Generation | None:
        """The generation that commits carry, or None while the member cannot commit."""

    @property
    def fetching_as(self) -> Generation:
        """The member that an OffsetFetch names. In a classic group it names none."""
        return NO_GENERATION

    @property
    @abstractmethod
    def rebalance_in_progress(self) -> bool:
        """Whether a commit fails now but may succeed after the next polls."""

    @abstractmethod
    def commit_refused(self, error: KafkaError, sent: Generation) -> ConsumerError | None:
        """Return what an error of OffsetCommit about the membership means, or None for any other error."""

    # Requests to the coordinator

    def ask(
        self,
        api: Api,
        build: Build,
        handle: Handle[T],
        *,
        timeout_ms: int | None = None,
        lowest: int | None = None,
        highest: int | None = None,
    ) -> RequestFuture[T]:
        """Send to the coordinator. ``handle`` gets the response, the future to complete, and the present generation."""
        node_id = self.lookup.node_id()
        if node_id is None:
            return RequestFuture.of_error(
                CoordinatorNotAvailableError("coordinator-unknown", "the group's coordinator is not known")
            )
        sent = self.generation

        def answered(body: Message, future: RequestFuture[T]) -> None:
            self.lookup.proven()
            try:
                handle(body, future, sent)
            except Exception as raised:
                if future.is_done:
                    raise
                future.fail(raised)

        def failed(error: Exception, future: RequestFuture[T]) -> None:
            if isinstance(error, DisconnectError):
                self.lookup.lost(str(error), is_disconnected=True)
            future.fail(error)

        static_lowest = None if self.is_dynamic else STATIC_LOWEST.get(api)
        return self._client.send(
            node_id,
            api,
            build,
            self._clock.now_ms,
            timeout_ms=timeout_ms,
            lowest=static_lowest if lowest is None else lowest,
            highest=highest,
        ).compose(answered, failed)

    def rebalance_failed(self, error: str) -> None:
        """Note that an attempt to rebalance failed."""
        self._trace(RebalanceFailed(at_ms=self._clock.now_ms, error=error))

    # For the consumer

    @abstractmethod
    def poll(self, timer: Timer, *, wait_for_join: bool = True) -> Call[bool]:
        """Do everything that the application's poll owes the group. Return False if that is not finished."""

    @abstractmethod
    def step(self) -> int | None:
        """Do what does not depend on the application. Return when to come again, or None."""

    @abstractmethod
    def next_poll_ms(self) -> int | None:
        """Return when the application's call should come back to ``poll``, or None."""

    @abstractmethod
    def update_pattern_subscription(self) -> None:
        """Subscribe to the known topics that match the pattern."""

    @abstractmethod
    def unsubscribe(self) -> Call[None]:
        """Give up all partitions and leave the group."""

    @abstractmethod
    def enforce_rebalance(self, reason: str) -> None:
        """Let the group rebalance, if its protocol has that. Raise IllegalStateError without a subscription."""

    @abstractmethod
    def close(self, timer: Timer, operation: str = DEFAULT) -> Call[None]:
        """Finish pending commits, give everything up, and leave if that is due."""
