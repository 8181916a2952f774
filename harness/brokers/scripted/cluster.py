"""ScriptedCluster: brokers that answer request frames in the order of their arrival.

Times are nanoseconds of the caller's clock. A broker responds without delay unless it has something to wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from harness.brokers.scripted.agenda import Clock
from harness.brokers.scripted.answer import NS_PER_MS, Answer, Closed, Request
from harness.brokers.scripted.apis import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    api_versions,
    consumer_group_describe,
    consumer_group_heartbeat,
    describe_groups,
    end_txn,
    fetch,
    find_coordinator,
    heartbeat,
    init_producer_id,
    join_group,
    leave_group,
    list_groups,
    list_offsets,
    metadata,
    offset_commit,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    sync_group,
    txn_offset_commit,
)
from harness.brokers.scripted.releases import release
from harness.brokers.scripted.state import ClusterState
from harness.brokers.scripted.transaction_controls import TransactionControls
from harness.model.addresses import Address
from harness.model.dice import Dice
from harness.wire.apis import Api, api_name
from harness.wire.errors import WireError
from harness.wire.headers import read_request_header
from harness.wire.messages import decode_request

__all__ = ["Answer", "ScriptedCluster"]

#: The brokers' wall clock at the caller's time 0, in milliseconds since 1970: November 2023.
WALL_MS_AT_ZERO: Final = 1_700_000_000_000
#: The interval for retrying requests to a paused broker if the end of the pause is not known.
_PAUSE_LOOK_NS: Final = 10 * NS_PER_MS

_HANDLERS: Final[Mapping[int, Callable[[ClusterState, Request], Answer]]] = {
    Api.PRODUCE: produce.handle,
    Api.FETCH: fetch.handle,
    Api.LIST_OFFSETS: list_offsets.handle,
    Api.METADATA: metadata.handle,
    Api.OFFSET_FOR_LEADER_EPOCH: offset_for_leader_epoch.handle,
    Api.OFFSET_COMMIT: offset_commit.handle,
    Api.OFFSET_FETCH: offset_fetch.handle,
    Api.JOIN_GROUP: join_group.handle,
    Api.SYNC_GROUP: sync_group.handle,
    Api.HEARTBEAT: heartbeat.handle,
    Api.LEAVE_GROUP: leave_group.handle,
    Api.DESCRIBE_GROUPS: describe_groups.handle,
    Api.LIST_GROUPS: list_groups.handle,
    Api.CONSUMER_GROUP_HEARTBEAT: consumer_group_heartbeat.handle,
    Api.CONSUMER_GROUP_DESCRIBE: consumer_group_describe.handle,
    Api.FIND_COORDINATOR: find_coordinator.handle,
    Api.API_VERSIONS: api_versions.handle,
    Api.INIT_PRODUCER_ID: init_producer_id.handle,
    Api.ADD_PARTITIONS_TO_TXN: add_partitions_to_txn.handle,
    Api.ADD_OFFSETS_TO_TXN: add_offsets_to_txn.handle,
    Api.END_TXN: end_txn.handle,
    Api.TXN_OFFSET_COMMIT: txn_offset_commit.handle,
}
#: The first bytes of requests whose responses depend only on the request's bytes, until the cluster changes.
_CACHEABLE: Final = frozenset(int(api).to_bytes(2, "big") for api in (Api.METADATA, Api.API_VERSIONS))
_CORRELATION: Final = slice(4, 8)


class ScriptedCluster(TransactionControls):
    """A cluster of ``version`` at ``addresses`` (node id -> advertised host and port).

    ``closed`` records every connection that a broker closed (node, connection, reason). Raises UsageError for a version
    that is not scripted.
    """

    def __init__(
        self,
        version: str,
        addresses: Mapping[int, Address],
        dice: Dice,
        *,
        wall_ms_at_zero: int = WALL_MS_AT_ZERO,
    ) -> None:
        super().__init__(ClusterState(release(version), addresses, dice, wall_ms_at_zero))
        self._muted_until_ns: dict[tuple[int, int], int] = {}
        self.closed: list[tuple[int, int, str]] = []

    @property
    def state(self) -> ClusterState:
        """The nodes, topics and producers. Tests and tools read it, and can bring it about without requests."""
        return self._state

    def accepts(self, node_id: int) -> bool:
        """Return whether the node accepts connections. A killed node does not."""
        return self._state.nodes[node_id].is_alive

    def handle(self, node_id: int, conn: int, payload: bytes, now_ns: int) -> Answer:
        """Return a broker's answer to a request (a frame without its size). Garbage ends the connection.

        This method never raises.
        """
        state = self._state
        agenda = state.agenda
        agenda.run(now_ns)
        node = state.nodes[node_id]
        if not node.is_alive:
            return Answer(None, now_ns, close=True)
        if node.paused_until_ns is not None:
            until_ns = node.paused_until_ns
            return Answer(None, until_ns if until_ns > now_ns else now_ns + _PAUSE_LOOK_NS, again=True)
        if self._muted_until_ns:
            now_ns = max(now_ns, self._muted_until_ns.pop((node_id, conn), now_ns))
        is_cacheable = payload[:2] in _CACHEABLE and not (state.injected or state.throttles_ms)
        key, generation = payload[:4] + payload[8:] if is_cacheable else b"", state.generation
        if is_cacheable and (cached := state.cached.get(key)) is not None:
            return Answer(cached[:4] + payload[_CORRELATION] + cached[8:], now_ns)
        try:
            answer = self._answer(node_id, conn, payload, now_ns)
        except Closed as closed:
            self.closed.append((node_id, conn, str(closed)))
            return Answer(None, now_ns, close=True)
        if is_cacheable and generation == state.generation and answer.frame is not None:
            state.cached[key] = answer.frame
        if agenda.next_ns is not None:
            agenda.run(now_ns)
        return answer

    def use(self, clock: Clock) -> None:
        """Let ``clock`` do what is due at its time, from now on."""
        self._state.agenda.use(clock)

    def wake(self, now_ns: int) -> None:
        """Do what is due, for a caller without a clock (see :mod:`.agenda`)."""
        self._state.agenda.run(now_ns)

    @property
    def due_ns(self) -> int | None:
        """When :meth:`wake` has to be called next, or None."""
        return self._state.agenda.next_ns

    def _answer(self, node_id: int, conn: int, payload: bytes, now_ns: int) -> Answer:
        state = self._state
        try:
            header, body = decode_request(payload)
        except WireError as error:
            return self._unreadable(payload, now_ns, str(error))
        handler = _HANDLERS.get(header.api_key)
        low, high = state.release.ranges.get(header.api_key, (0, -1))
        if header.api_version > high and header.api_key == Api.API_VERSIONS:
            return api_versions.unsupported(state, header, now_ns)
        if handler is None or not low <= header.api_version <= high:
            raise Closed(f"{api_name(header.api_key)} version {header.api_version} is not answered")
        throttle_ms = state.throttle_ms(header.api_key) if state.throttles_ms else 0
        now_ms = state.wall_ms_at_zero + now_ns // NS_PER_MS
        answer = handler(state, Request(node_id, header, body, now_ns, now_ms, throttle_ms))
        if throttle_ms:
            self._mute(node_id, conn, answer, throttle_ms)
        return answer

    def _mute(self, node_id: int, conn: int, answer: Answer, throttle_ms: int) -> None:
        """Read the connection's next request only after the throttle time."""
        if answer.waiting is not None:
            answer.waiting.then(lambda later: self._mute(node_id, conn, later, throttle_ms))
        else:
            self._muted_until_ns[node_id, conn] = answer.at_ns + throttle_ms * NS_PER_MS

    def _unreadable(self, payload: bytes, now_ns: int, why: str) -> Answer:
        try:
            header, _ = read_request_header(payload)
        except WireError:
            raise Closed(why) from None
        _, high = self._state.release.ranges[Api.API_VERSIONS]
        if header.api_key == Api.API_VERSIONS and header.api_version > high:
            return api_versions.unsupported(self._state, header, now_ns)
        raise Closed(why)
