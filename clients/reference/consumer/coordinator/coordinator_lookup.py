"""CoordinatorLookup: which broker coordinates the group, and what follows when it is lost (CSM-GRP-01).

The coordinator gets a connection of its own beside that of the same broker's data requests, so that a Fetch that waits
for records does not delay a heartbeat. Java keeps this code in AbstractCoordinator.
"""

from __future__ import annotations

from collections.abc import Callable

from clients.reference.common.backoff import ExponentialBackoff
from clients.reference.common.requests import Message
from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.calls import Call, Clock, Timer, sleep
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.reference.consumer.coordinator.group_errors import group_error
from clients.reference.consumer.coordinator.group_requests import coordinator_of, find_coordinator_request
from clients.reference.consumer.errors import NoBrokersAvailableError
from clients.reference.consumer.request_future import RequestFuture
from clients.reference.network.node_addresses import coordinator_node
from clients.reference.ports import Jitter, Node
from clients.reference.telemetry.trace import CoordinatorFound, CoordinatorLost, Trace
from harness.wire.apis import Api
from harness.wire.error_table import error_for


class CoordinatorLookup:
    """The coordinator of one group, by the id of its connection. ``on_found`` is called for each that is found."""

    def __init__(
        self,
        config: ConsumerConfig,
        group_id: str,
        client: ConsumerNetworkClient,
        on_found: Callable[[], None],
        clock: Clock,
        jitter: Jitter,
        trace: Trace,
    ) -> None:
        self._group_id = group_id
        self._client = client
        self._on_found = on_found
        self._clock = clock
        self._trace = trace
        self._backoff = ExponentialBackoff(config.retry_backoff_ms, config.retry_backoff_max_ms, jitter)
        self._node_id: int | None = None
        self._future: RequestFuture[None] | None = None
        self._fatal: Exception | None = None
        self._failures = 0
        self._look_again_ms = 0

    # What is known

    def node_id(self) -> int | None:
        """Return the coordinator, or None if it is unknown or its connection has just failed."""
        if self._node_id is not None and self._client.is_unavailable(self._node_id, self._clock.now_ms):
            self.lost("its connection failed", is_disconnected=True)
            self._back_off()
        return self._node_id

    @property
    def is_unknown(self) -> bool:
        """Whether a lookup is needed before anything can be sent."""
        return self.node_id() is None

    def lost(self, why: str, *, is_disconnected: bool = False) -> None:
        """Forget the coordinator. Its connection is closed, which fails everything in flight to it."""
        if self._node_id is None:
            return
        lost, self._node_id = self._node_id, None
        if not is_disconnected:
            self._client.disconnect_async(lost)
        self._trace(CoordinatorLost(at_ms=self._clock.now_ms, node=lost, reason=why))

    # Lookups

    def find(self) -> RequestFuture[None]:
        """Return the lookup in progress, or start one at any broker. A failed one counts until its backoff ends."""
        now_ms = self._clock.now_ms
        if self._future is not None and (not self._future.is_done or now_ms < self._look_again_ms):
            return self._future
        node_id = self._client.least_loaded_node(now_ms)
        if node_id is None:
            none_usable = NoBrokersAvailableError(
                "no-broker-usable", "no broker can be asked for the coordinator"
            )
            self._future = RequestFuture()
            self._failed(none_usable, self._future)
        else:
            request = find_coordinator_request(self._group_id)
            sent = self._client.send(node_id, Api.FIND_COORDINATOR, request, now_ms)
            self._future = sent.compose(self._answered, self._failed)
        return self._future

    def find_in_background(self) -> int | None:
        """Start a lookup if it is time. Return when to come again, or None to wait for the one in progress."""
        return self._look_again_ms if self.find().is_done else None

    def proven(self) -> None:
        """The coordinator has answered a request, so the next lookup need not wait long."""
        self._failures = 0

    def _answered(self, body: Message, future: RequestFuture[None]) -> None:
        told = coordinator_of(body)
        error = error_for(int(told.error_code))
        if error.code:
            self._failed(group_error(error, Api.FIND_COORDINATOR, self._group_id), future)
            return
        node = coordinator_node(Node(int(told.node_id), told.host, int(told.port)))
        self._client.add_node(node)
        self._node_id = node.id
        self._client.try_connect(node.id, self._clock.now_ms)
        self._on_found()
        self._trace(CoordinatorFound(at_ms=self._clock.now_ms, node=node.id, broker=int(told.node_id)))
        future.complete(None)

    def _failed(self, error: Exception, future: RequestFuture[None]) -> None:
        if not getattr(error, "retriable", False):
            self._fatal = error
        self._back_off()
        future.fail(error)

    def _back_off(self) -> None:
        self._look_again_ms = self._clock.now_ms + self._backoff.delay_ms(self._failures)
        self._failures += 1

    # Waiting

    def ensure_ready(self, timer: Timer, *, wakeup: bool = True) -> Call[bool]:
        """Wait for a coordinator. Return whether there is one before ``timer`` expired. Raise fatal errors."""
        while self.is_unknown:
            self.raise_fatal()
            future = self.find()
            yield from self._client.await_future(future, timer, wakeup=wakeup)
            if not future.is_done:
                return False
            self.raise_fatal()
            if self.is_unknown:
                yield from sleep(timer, self._look_again_ms - timer.now_ms)
            if future.failed:
                yield from self._client.await_metadata_update(timer, wakeup=wakeup)
            if timer.is_expired:
                break
        return not self.is_unknown

    def raise_fatal(self) -> None:
        """Raise the error of a lookup that no repetition can heal. The next lookup may have another result."""
        if self._fatal is not None:
            fatal, self._fatal = self._fatal, None
            raise fatal
