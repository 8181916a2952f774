"""Fetch: records from several partitions at once, within a session, as soon as there are enough of them.

A request with too few bytes waits until records arrive, a partition can no longer be read, or its maximum wait has
ended (``DelayedFetch``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.agenda import Waiting
from harness.brokers.scripted.answer import NS_PER_MS, Answer, Request, milliseconds
from harness.brokers.scripted.apis.topics_asked import NO_ID, topic_key
from harness.brokers.scripted.fetch_sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION,
    CachedPartition,
    FetchSession,
    PartitionKey,
    Wanted,
    next_epoch,
)
from harness.brokers.scripted.fetching import (
    BROKER_MAX_BYTES,
    FetchParams,
    Result,
    Target,
    is_satisfied,
    read_all,
)
from harness.brokers.scripted.messages import maker
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.state import ClusterState, InjectedError
from harness.wire.apis import Api
from harness.wire.messages import encode_response

_DIVERGENCE_FROM_VERSION: Final = 12
_IDS_FROM_VERSION: Final = 13
_FOLLOWERS_FROM_VERSION: Final = 11
_LEADERS_FROM_VERSION: Final = 16
_NO_EPOCH: Final = -1
#: Errors of a session, which a response has at its top.
_TOP_LEVEL: Final = frozenset(
    {
        ErrorCode.fetch_session_id_not_found,
        ErrorCode.invalid_fetch_session_epoch,
        ErrorCode.fetch_session_topic_id_error,
    }
)
_WITH_LEADER: Final = frozenset({ErrorCode.not_leader_or_follower, ErrorCode.fenced_leader_epoch})


def handle(state: ClusterState, request: Request) -> Answer:
    """Handle the request: now, or as soon as there is enough to read."""
    try:
        fetch = _begin(state, request)
    except RequestRefused as refused:
        message = _message(state, request, refused.code, NO_SESSION, ())
        return Answer(encode_response(message, request.header.correlation_id), request.now_ns)
    results = fetch.read()
    max_wait_ms = request.body.max_wait // milliseconds(1)
    read_bytes = sum(len(result.records) for result in results)
    is_enough = read_bytes >= fetch.params.min_bytes or any(result.is_urgent for result in results)
    if max_wait_ms <= 0 or not results or is_enough or fetch.is_satisfied():
        return Answer(fetch.frame(results), request.now_ns)
    fetch.waiting = Waiting(state.agenda, request.node_id)
    state.delayed_fetches.append(fetch)
    state.agenda.at(request.now_ns + max_wait_ms * NS_PER_MS, fetch.finish, request.node_id)
    return Answer(None, request.now_ns, waiting=fetch.waiting)


@dataclass(slots=True, eq=False)
class DelayedFetch:
    """A request, from its arrival to its response."""

    state: ClusterState
    request: Request
    params: FetchParams
    targets: list[Target]
    session: FetchSession | None
    creates_session: bool
    error: InjectedError | None
    waiting: Waiting | None = None

    def read(self) -> list[Result]:
        """Read the partitions."""
        return read_all(self.state, self.params, self.targets, self.error)

    def is_satisfied(self) -> bool:
        """Return whether the request need not wait."""
        return is_satisfied(self.state, self.params, self.targets)

    def finish(self, now_ns: int) -> None:
        """Answer a waiting request with what there is."""
        if self in self.state.delayed_fetches and self.waiting is not None:
            self.state.delayed_fetches.remove(self)
            self.waiting.complete(self.frame(self.read()), now_ns)

    def frame(self, results: list[Result]) -> bytes:
        """Return the response."""
        code, session_id = ErrorCode.none, NO_SESSION
        if self.creates_session:
            session_id = self._new_session(results)
        elif self.session is not None:
            session_id = self.session.session_id
            if self.session.epoch != next_epoch(int(self.request.body.session_epoch)):
                code, results = ErrorCode.invalid_fetch_session_epoch, []
            else:
                results = list(self._news(self.session, results))
        message = _message(self.state, self.request, code, session_id, results)
        return encode_response(message, self.request.header.correlation_id)

    def _new_session(self, results: list[Result]) -> int:
        state, request = self.state, self.request
        session = state.nodes[request.node_id].fetch_sessions.create(
            state.new_session_id(), request.version >= _IDS_FROM_VERSION, len(results), request.now_ms
        )
        if session is None:
            return NO_SESSION
        cached = {target.key: target.cached for target in self.targets}
        for result in results:
            known = session.partitions[result.key] = cached[result.key]
            known.high_watermark, known.log_start_offset = result.high_watermark, result.log_start_offset
        return session.session_id

    def _news(self, session: FetchSession, results: list[Result]) -> Iterator[Result]:
        for result in results:
            is_urgent = result.is_urgent or bool(result.records)
            if result.key in session.partitions and session.is_news(
                result.key, result.high_watermark, result.log_start_offset, is_urgent=is_urgent
            ):
                if result.records:
                    session.move_to_end(result.key)
                yield result


def _begin(state: ClusterState, request: Request) -> DelayedFetch:
    """Return the request with its session. Raises RequestRefused for an error of the session."""
    body, version = request.body, request.version
    error = None
    if state.injected:
        indexes = frozenset(int(part.partition) for topic in body.topics for part in topic.partitions)
        error = state.take_error(Api.FETCH, indexes or None)
    if error is not None and error.code in _TOP_LEVEL:
        raise RequestRefused(error.code)
    wanted = _wanted(body)
    session_id, epoch = getattr(body, "session_id", NO_SESSION), getattr(body, "session_epoch", FINAL_EPOCH)
    session: FetchSession | None = None
    if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
        state.nodes[request.node_id].fetch_sessions.by_id.pop(session_id, None)
        targets = _without_session(wanted)
    else:
        session, targets = _continued(state, request, session_id, epoch, wanted)
    max_bytes = min(getattr(body, "max_bytes", BROKER_MAX_BYTES), BROKER_MAX_BYTES)
    params = FetchParams(
        node_id=request.node_id,
        min_bytes=min(body.min_bytes, max_bytes),
        max_bytes=max_bytes,
        read_committed=bool(getattr(body, "isolation_level", 0)),
        rack=getattr(body, "rack_id", "") or "",
        only_leader=version < _FOLLOWERS_FROM_VERSION,
    )
    return DelayedFetch(state, request, params, targets, session, epoch == INITIAL_EPOCH, error)


def _continued(
    state: ClusterState, request: Request, session_id: int, epoch: int, wanted: dict[PartitionKey, Wanted]
) -> tuple[FetchSession | None, list[Target]]:
    """Return a session and what to read. Raises RequestRefused.

    A session without partitions ends, and what the request names is read without one.
    """
    sessions = state.nodes[request.node_id].fetch_sessions.by_id
    session = sessions.get(session_id)
    if session is None:
        raise RequestRefused(ErrorCode.fetch_session_id_not_found)
    if session.epoch != epoch:
        raise RequestRefused(ErrorCode.invalid_fetch_session_epoch)
    if session.uses_topic_ids != (request.version >= _IDS_FROM_VERSION):
        raise RequestRefused(ErrorCode.fetch_session_topic_id_error)
    forgotten = [
        (topic_key(each), index) for each in request.body.forgotten_topics_data for index in each.partitions
    ]
    session.update(wanted, forgotten)
    if not session.partitions:
        del sessions[session_id]
        return None, _without_session(wanted)
    session.last_used_ms = request.now_ms
    session.advance()
    return session, [Target(key, cached) for key, cached in session.partitions.items()]


def _without_session(wanted: dict[PartitionKey, Wanted]) -> list[Target]:
    return [Target(key, CachedPartition(each)) for key, each in wanted.items()]


def _wanted(body: Any) -> dict[PartitionKey, Wanted]:
    return {
        (topic_key(topic), int(part.partition)): Wanted(
            part.fetch_offset,
            part.partition_max_bytes,
            getattr(part, "current_leader_epoch", _NO_EPOCH),
            getattr(part, "last_fetched_epoch", _NO_EPOCH),
        )
        for topic in body.topics
        for part in topic.partitions
    }


def _message(
    state: ClusterState, request: Request, code: ErrorCode, session_id: int, results: Iterable[Result]
) -> Any:
    version = request.version
    entry = maker(Api.FETCH, version, "FetchableTopicResponse")
    values: dict[str, Any] = {}
    grouped: list[tuple[PartitionKey, list[Any]]] = []
    leaders: set[int] = set()
    for result in results:
        if not grouped or grouped[-1][0][0] != result.key[0]:
            grouped.append((result.key, []))
        grouped[-1][1].append(_partition(state, version, result, leaders))
    if version >= _LEADERS_FROM_VERSION:
        values["node_endpoints"] = _endpoints(state, version, leaders)
    topics = tuple(
        entry(
            topic=key[0] if isinstance(key[0], str) else "",
            topic_id=key[0] if not isinstance(key[0], str) else NO_ID,
            partitions=tuple(made),
        )
        for key, made in grouped
    )
    return maker(Api.FETCH, version, "FetchResponse")(
        throttle_time=milliseconds(request.throttle_ms),
        error_code=code,
        session_id=session_id,
        responses=topics,
        **values,
    )


def _partition(state: ClusterState, version: int, result: Result, leaders: set[int]) -> Any:
    values: dict[str, Any] = {}
    if version >= _LEADERS_FROM_VERSION and result.code in _WITH_LEADER:
        topic_id, index = result.key
        topic = state.topics_by_id.get(topic_id)  # type: ignore[arg-type]
        if topic is not None and 0 <= index < len(topic.partitions):
            found = topic.partitions[index]
            leader = maker(Api.FETCH, version, "LeaderIdAndEpoch")
            values["current_leader"] = leader(leader_id=found.leader, leader_epoch=found.leader_epoch)
            leaders.add(found.leader)
    if result.diverging is not None and version >= _DIVERGENCE_FROM_VERSION:
        epoch = maker(Api.FETCH, version, "EpochEndOffset")
        values["diverging_epoch"] = epoch(
            epoch=result.diverging.epoch, end_offset=result.diverging.end_offset
        )
    aborted = maker(Api.FETCH, version, "AbortedTransaction")
    return maker(Api.FETCH, version, "PartitionData")(
        partition_index=result.key[1],
        error_code=result.code,
        high_watermark=result.high_watermark,
        last_stable_offset=result.last_stable_offset,
        log_start_offset=result.log_start_offset,
        aborted_transactions=None
        if result.aborted is None
        else tuple(
            aborted(producer_id=each.producer_id, first_offset=each.first_offset) for each in result.aborted
        ),
        preferred_read_replica=result.preferred_replica,
        records=result.records,
        **values,
    )


def _endpoints(state: ClusterState, version: int, leaders: set[int]) -> tuple[Any, ...]:
    entry = maker(Api.FETCH, version, "NodeEndpoint")
    nodes = [state.nodes[node_id] for node_id in sorted(leaders) if node_id in state.nodes]
    return tuple(
        entry(node_id=node.node_id, host=node.address[0], port=node.address[1], rack=node.rack)
        for node in nodes
        if node.is_alive
    )
