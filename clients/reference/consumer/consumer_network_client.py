"""ConsumerNetworkClient: queues requests per node, sends them when their node is ready, and completes futures.

``poll`` is one round, in Java's order (CSM-CNC-01). Any component may queue a request at any time. The generators at
the end are where a call of the application waits for the network, and where a wakeup interrupts it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clients.reference.common.earliest import earliest
from clients.reference.common.requests import ClientRequest, ClientResponse, Message
from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.calls import Call, Timer, Wait
from clients.reference.consumer.consumer_metadata import ConsumerMetadata
from clients.reference.consumer.errors import (
    DisconnectError,
    TimeoutError,
    UnsupportedVersionError,
    WakeupError,
)
from clients.reference.consumer.request_future import RequestFuture
from clients.reference.network.metadata_updater import MetadataUpdater
from clients.reference.network.network_client import NetworkClient
from clients.reference.ports import Node
from harness.wire.apis import Api, api_name

LONGEST_POLL_MS = 5_000


@dataclass(frozen=True, slots=True)
class _Unsent:
    request: ClientRequest
    future: RequestFuture[Message]
    created_ms: int


class ConsumerNetworkClient:
    """The consumer's access to the network. ``client`` and ``updater`` are used by nothing else."""

    def __init__(
        self,
        config: ConsumerConfig,
        client: NetworkClient,
        metadata: ConsumerMetadata,
        updater: MetadataUpdater,
    ) -> None:
        self._client = client
        self._metadata = metadata
        self._updater = updater
        self._request_timeout_ms = config.request_timeout_ms
        self._retry_backoff_ms = config.retry_backoff_ms
        self._longest_poll_ms = min(config.heartbeat_interval_ms, LONGEST_POLL_MS)
        self._unsent: dict[int, deque[_Unsent]] = {}
        self._completed: deque[tuple[RequestFuture[Message], Message | Exception]] = deque()
        self._to_disconnect: list[int] = []
        #: How many requests have had their outcome.
        self.outcomes = 0
        self._is_woken = False
        self._wakeups_disabled = False
        self._now_ms = 0
        self._update_at_ms: int | None = 0

    # Requests

    def send(
        self,
        node_id: int,
        api: Api,
        build: Callable[[int], Message],
        now_ms: int,
        *,
        timeout_ms: int | None = None,
        lowest: int | None = None,
        highest: int | None = None,
    ) -> RequestFuture[Message]:
        """Queue a request. The future completes with the response's body, in a later round.

        It fails with DisconnectError, the node's AuthenticationError, TimeoutError if the request was not sent within
        ``timeout_ms`` (request.timeout.ms by default), or UnsupportedVersionError.
        """
        future: RequestFuture[Message] = RequestFuture()

        def answered(response: ClientResponse, at_ms: int) -> None:
            self._completed.append((future, _outcome(response, api)))

        request = ClientRequest(
            node_id,
            api,
            build,
            answered,
            timeout_ms=self._request_timeout_ms if timeout_ms is None else timeout_ms,
            lowest=lowest,
            highest=highest,
        )
        self._unsent.setdefault(node_id, deque()).append(_Unsent(request, future, now_ms))
        return future

    def transmit_sends(self, now_ms: int) -> None:
        """Send what can be sent now, without completing anything."""
        self._try_send(now_ms)

    def pending(self, node_id: int) -> int:
        """Return how many requests to a node have no response yet, sent or not."""
        return len(self._unsent.get(node_id, ())) + self._client.in_flight_count(node_id)

    @property
    def has_pending(self) -> bool:
        """Whether any request has no response yet, sent or not."""
        return any(self._unsent.values()) or self._client.has_in_flight()

    @property
    def has_unsent(self) -> bool:
        """Whether a request waits for its node."""
        return any(self._unsent.values())

    # Nodes

    def add_node(self, node: Node) -> None:
        """Add a node that metadata does not know (see ``coordinator_node``)."""
        self._client.add_node(node)

    def try_connect(self, node_id: int, now_ms: int) -> None:
        """Start to connect to a node, if that is allowed now."""
        self._client.ready(node_id, now_ms)

    def least_loaded_node(self, now_ms: int) -> int | None:
        """Return the best node for a request that any broker can answer, or None."""
        return self._client.least_loaded_node(now_ms)

    def has_ready_node(self) -> bool:
        """Return whether any broker can be used now."""
        return self._client.has_ready_node()

    def is_unavailable(self, node_id: int, now_ms: int) -> bool:
        """Return whether the node's connection has failed and may not be tried again yet."""
        usable_ms = self._client.usable_at_ms(node_id, now_ms)
        return self._client.connection_failed(node_id) and usable_ms is not None and usable_ms > now_ms

    def raise_auth_failure(self, node_id: int) -> None:
        """Raise the AuthenticationError of a node that refused the credentials."""
        error = self._client.authentication_error(node_id)
        if error is not None:
            raise error

    def supports(self, node_id: int, api: Api, lowest: int) -> bool | None:
        """Return whether a node offers ``lowest`` or a later version of an API, or None if that is not known."""
        return self._client.supports(node_id, api, lowest)

    def disconnect_async(self, node_id: int) -> None:
        """Close a connection in the next round, and fail the requests that wait for it."""
        self._to_disconnect.append(node_id)

    # The round

    def poll(self, now_ms: int, *, wakeup: bool = True) -> None:
        """Run one round without blocking (CSM-CNC-01). Raise WakeupError if one is due and ``wakeup`` allows it."""
        self._now_ms = now_ms
        self._complete()
        self._disconnect(now_ms)
        self._try_send(now_ms)
        self._updater.maybe_update(now_ms)
        self._client.poll(now_ms)
        self._update_at_ms = self._updater.maybe_update(now_ms)
        self._check_disconnects()
        if wakeup:
            self.maybe_trigger_wakeup()
        self._try_send(now_ms)
        self._fail_expired(now_ms)
        self._complete()

    def next_deadline_ms(self) -> int | None:
        """Return when the next round is due, if the network has no news before. None if never."""
        if self._completed or self._to_disconnect:
            return 0
        waiting = [queue[0] for queue in self._unsent.values() if queue]
        return earliest(
            self._client.next_deadline_ms(),
            self._update_at_ms,
            *[self._client.usable_at_ms(each.request.node_id, self._now_ms) for each in waiting],
            *[each.created_ms + each.request.timeout_ms + 1 for each in waiting],
        )

    def close(self) -> None:
        """Close every connection. What is pending never completes."""
        self._client.close()

    def _complete(self) -> None:
        """Complete the futures. Their listeners may queue further requests."""
        while self._completed:
            future, outcome = self._completed.popleft()
            self.outcomes += 1
            if isinstance(outcome, Exception):
                future.fail(outcome)
            else:
                future.complete(outcome)

    def _disconnect(self, now_ms: int) -> None:
        leaving, self._to_disconnect = self._to_disconnect, []
        for node_id in leaving:
            self._fail_unsent(node_id)
            self._client.disconnect(node_id, now_ms, "the consumer closed it")

    def _try_send(self, now_ms: int) -> None:
        for node_id, queue in list(self._unsent.items()):
            while queue and self._client.ready(node_id, now_ms):
                self._client.send(queue.popleft().request, now_ms)
            if not queue:
                del self._unsent[node_id]

    def _check_disconnects(self) -> None:
        """Fail what waits for a node whose connection failed, or that no longer exists (CSM-CNC-03)."""
        for node_id in list(self._unsent):
            if self._client.connection_failed(node_id) or self._client.node(node_id) is None:
                self._fail_unsent(node_id, self._client.authentication_error(node_id))

    def _fail_unsent(self, node_id: int, error: Exception | None = None) -> None:
        for each in self._unsent.pop(node_id, ()):
            self._completed.append((each.future, error or _disconnected(each.request.api)))

    def _fail_expired(self, now_ms: int) -> None:
        """Fail what was not sent in time (CSM-CNC-02)."""
        for queue in self._unsent.values():
            while queue and now_ms - queue[0].created_ms > queue[0].request.timeout_ms:
                late = queue.popleft()
                error = TimeoutError(
                    "request-not-sent",
                    "{api} could not be sent within {timeout_ms} ms",
                    api=api_name(late.request.api),
                    timeout_ms=late.request.timeout_ms,
                )
                self._completed.append((late.future, error))

    # Wakeups (CSM-CNC-07, CSM-WKP-01)

    def wakeup(self) -> None:
        """Interrupt the current or the next call that waits. May be called from any thread."""
        self._is_woken = True

    def disable_wakeups(self) -> None:
        """Ignore wakeups from now on, as ``close`` does."""
        self._wakeups_disabled = True

    def maybe_trigger_wakeup(self) -> None:
        """Raise WakeupError if a wakeup is due. It is then over."""
        if self._is_woken and not self._wakeups_disabled:
            self._is_woken = False
            raise WakeupError("woken-up", "wakeup() interrupted the call")

    # Waiting

    def wait(
        self, timer: Timer, *, is_done: Callable[[], bool] = lambda: False, wakeup: bool = True
    ) -> Call[None]:
        """Wait for one round, at most until ``timer`` expires. If ``is_done`` holds already, the round does not block.

        Raise WakeupError, and errors of metadata that no request reports.
        """
        may_wake = wakeup and self._is_woken and not self._wakeups_disabled
        yield Wait(timer.now_ms if may_wake or is_done() else self._wait_until_ms(timer))
        if wakeup:
            self.maybe_trigger_wakeup()
        error = self._metadata.take_error()
        if error is not None:
            raise error

    def _wait_until_ms(self, timer: Timer) -> int:
        """Return when a wait ends at the latest (CSM-CNC-04)."""
        longest_ms = self._longest_poll_ms
        if not self._client.has_in_flight():
            longest_ms = min(longest_ms, self._retry_backoff_ms)
        return min(timer.deadline_ms, timer.now_ms + longest_ms)

    def await_future(self, future: RequestFuture[Any], timer: Timer, *, wakeup: bool = True) -> Call[bool]:
        """Wait until a future is done or ``timer`` has expired, at least one round. Return whether it is done."""
        yield from self.wait(timer, is_done=lambda: future.is_done, wakeup=wakeup)
        while not future.is_done and not timer.is_expired:
            yield from self.wait(timer, wakeup=wakeup)
        return future.is_done

    def await_metadata_update(self, timer: Timer, *, wakeup: bool = True) -> Call[bool]:
        """Request new metadata and wait for it. Return whether it came before ``timer`` expired."""
        version = self._metadata.update_version
        self._metadata.request_update()
        yield from self.wait(timer, wakeup=wakeup)
        while self._metadata.update_version == version and not timer.is_expired:
            yield from self.wait(timer, wakeup=wakeup)
        return self._metadata.update_version > version

    def ensure_fresh_metadata(self, timer: Timer) -> Call[bool]:
        """Wait for metadata only if an update is needed."""
        if self._metadata.is_update_requested or self._metadata.next_update_ms() <= timer.now_ms:
            return (yield from self.await_metadata_update(timer))
        return True

    def await_pending(self, node_id: int, timer: Timer) -> Call[bool]:
        """Wait until nothing is pending for a node. Return whether that is so."""
        while self.pending(node_id) and not timer.is_expired:
            yield from self.wait(timer)
        return not self.pending(node_id)


def _outcome(response: ClientResponse, api: Api) -> Message | Exception:
    if response.disconnected:
        return _disconnected(api)
    if response.version_mismatch is not None:
        return UnsupportedVersionError("version-unsupported", "{why}", why=response.version_mismatch)
    return response.body


def _disconnected(api: Api) -> DisconnectError:
    return DisconnectError(
        "request-disconnected", "the connection was lost before {api} was answered", api=api_name(api)
    )
