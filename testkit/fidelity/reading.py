"""The requests that read logs, and the transactions that they find there, as a peer sends them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final
from uuid import UUID

from harness.wire.apis import Api
from harness.wire.messages import make
from testkit.fidelity import reading_steps as r
from testkit.fidelity.batches import batch_bytes
from testkit.fidelity.observed import Plain, plain_records
from testkit.fidelity.peer import Peer
from testkit.fidelity.steps import BatchSpec

_CONSUMER: Final = -1
_NO_SESSION, _FINAL_EPOCH, _INITIAL_EPOCH = 0, -1, 0
#: An id that no session has: ids are positive.
_UNKNOWN_SESSION: Final = -7
#: The plans' records are whole hours old, and a few milliseconds apart. Another timestamp is that of a broker.
_HOUR_MS: Final = 3_600_000
_OWN_TIMES_MS: Final = 30


@dataclass(slots=True)
class _Session:
    """A fetch session as its client knows it. ``epoch`` is that of the next request."""

    session_id: int = _NO_SESSION
    epoch: int = _INITIAL_EPOCH


class Reading:
    """What a peer knows of its sessions and transactions."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._sessions: dict[str, _Session] = {}
        self._session_labels = {_NO_SESSION: "none"}
        self._producers: dict[str, int] = {}
        self._sequences: dict[tuple[str, str, int], int] = {}

    async def step(self, step: r.ReadingStep) -> Plain:
        """Play one step."""
        match step:
            case r.Fetch():
                return await self._fetch(step)
            case r.ListOffsets():
                return await self._list_offsets(step)
            case r.OffsetForLeaderEpoch():
                return await self._epochs(step)
            case r.Transact():
                return await self._transact(step)
            case r.EndTransaction():
                await self._peer.side.end_transaction(self._name(step.transaction), commit=step.commit)
                return None

    # Fetch

    async def _fetch(self, step: r.Fetch) -> Plain:
        peer = self._peer
        kind = partial(peer.request_class, Api.FETCH, step.version)
        session_id, epoch = self._session(step)
        topics = tuple(
            make(
                kind("FetchTopic"),
                topic=peer.name(label),
                topic_id=peer.topic_id(label),
                partitions=tuple(
                    make(
                        kind("FetchPartition"),
                        partition=each.partition,
                        fetch_offset=each.offset,
                        partition_max_bytes=each.max_bytes,
                        current_leader_epoch=each.leader_epoch,
                        last_fetched_epoch=each.last_fetched_epoch,
                    )
                    for each in parts
                ),
            )
            for label, parts in _by_topic(step.parts)
        )
        forgotten = step.forgotten if step.version >= 7 else ()
        labels = tuple(dict.fromkeys(label for label, _ in forgotten))
        values: dict[str, Any] = {
            "replica_id": _CONSUMER,
            "max_wait": timedelta(milliseconds=step.max_wait_ms),
            "min_bytes": step.min_bytes,
            "max_bytes": step.max_bytes,
            "isolation_level": int(step.committed),
            "session_id": session_id,
            "session_epoch": epoch,
            "topics": topics,
            "forgotten_topics_data": tuple(
                make(
                    kind("ForgottenTopic"),
                    topic=peer.name(label),
                    topic_id=peer.topic_id(label),
                    partitions=tuple(index for each, index in forgotten if each == label),
                )
                for label in labels
            ),
            "rack_id": "",
        }
        first = step.parts[0] if step.parts else r.FetchPart(peer.plan.topics[0].label, 0, 0)
        node = await peer.leader_node(step.node, first.topic, first.partition)
        take = partial(self._fetched, step)
        if step.may_wait:
            return await peer.begin(Api.FETCH, step.version, node, take, **values)
        return await peer.ask(Api.FETCH, step.version, node, take=take, **values)

    def _session(self, step: r.Fetch) -> tuple[int, int]:
        """Return the session id and epoch that a step sends, and count the epoch on."""
        if step.session is None:
            return _NO_SESSION, _FINAL_EPOCH
        known = self._sessions.setdefault(step.session, _Session())
        match step.session_epoch:
            case r.SessionEpoch.NONE:
                return _NO_SESSION, _FINAL_EPOCH
            case r.SessionEpoch.BEGIN:
                return _NO_SESSION, _INITIAL_EPOCH
            case r.SessionEpoch.RENEW:
                return known.session_id, _INITIAL_EPOCH
            case r.SessionEpoch.CLOSE:
                return known.session_id, _FINAL_EPOCH
            case r.SessionEpoch.REPEATED:
                return known.session_id, max(known.epoch - 1, 1)
            case r.SessionEpoch.SKIPPED:
                return known.session_id, known.epoch + 1
            case r.SessionEpoch.UNKNOWN_ID:
                return _UNKNOWN_SESSION, max(known.epoch, 1)
            case _:
                known.epoch += 1
                return known.session_id, max(known.epoch - 1, 1)

    def _fetched(self, step: r.Fetch, answer: Any) -> Plain:
        session_id = getattr(answer, "session_id", _NO_SESSION)
        begins = step.session_epoch in (r.SessionEpoch.BEGIN, r.SessionEpoch.RENEW)
        if step.session is not None and begins and session_id:
            self._sessions[step.session] = _Session(session_id, _INITIAL_EPOCH + 1)
        told = self._peer.plainly(answer)
        label = self._session_labels.setdefault(session_id, f"session {len(self._session_labels)}")
        told["session_id"] = label
        # The order of the partitions is part of the answer: the first one with records may exceed every limit.
        told["responses"] = [
            {
                "topic": _topic(self._peer, topic),
                "partitions": [self._partition(part) for part in topic.partitions],
            }
            for topic in answer.responses
        ]
        return told

    def _partition(self, part: Any) -> Plain:
        told = self._peer.plainly(part)
        told["records"] = plain_records(bytes(part.records or b""), self._peer.labels, self._peer.base_ms)
        return told

    # Offsets

    async def _list_offsets(self, step: r.ListOffsets) -> Plain:
        peer = self._peer
        kind = partial(peer.request_class, Api.LIST_OFFSETS, step.version)
        return await peer.ask(
            Api.LIST_OFFSETS,
            step.version,
            await peer.leader_node(step.node, step.parts[0].topic, step.parts[0].partition),
            take=self._listed,
            replica_id=_CONSUMER,
            isolation_level=int(step.committed),
            timeout=timedelta(seconds=10),
            topics=tuple(
                make(
                    kind("ListOffsetsTopic"),
                    name=peer.name(label),
                    partitions=tuple(
                        make(
                            kind("ListOffsetsPartition"),
                            partition_index=each.partition,
                            current_leader_epoch=each.leader_epoch,
                            timestamp=each.timestamp_ms
                            if each.timestamp_ms < 0
                            else peer.base_ms - each.timestamp_ms,
                        )
                        for each in parts
                    ),
                )
                for label, parts in _by_topic(step.parts)
            ),
        )

    def _listed(self, answer: Any) -> Plain:
        told = self._peer.plainly(answer)
        for topic in told["topics"].values():
            for part in topic["partitions"].values():
                timestamp_ms = part["timestamp"]
                if timestamp_ms >= 0:
                    age_ms = self._peer.base_ms - timestamp_ms
                    is_ours = -age_ms % _HOUR_MS <= _OWN_TIMES_MS
                    part["timestamp"] = age_ms if is_ours else "broker's"
        return told

    async def _epochs(self, step: r.OffsetForLeaderEpoch) -> Plain:
        peer = self._peer
        kind = partial(peer.request_class, Api.OFFSET_FOR_LEADER_EPOCH, step.version)
        return await peer.ask(
            Api.OFFSET_FOR_LEADER_EPOCH,
            step.version,
            await peer.leader_node(step.node, step.parts[0].topic, step.parts[0].partition),
            replica_id=_CONSUMER,
            topics=tuple(
                make(
                    kind("OffsetForLeaderTopic"),
                    topic=peer.name(label),
                    partitions=tuple(
                        make(
                            kind("OffsetForLeaderPartition"),
                            partition=each.partition,
                            current_leader_epoch=each.leader_epoch,
                            leader_epoch=each.epoch,
                        )
                        for each in parts
                    ),
                )
                for label, parts in _by_topic(step.parts)
            ),
        )

    # Transactions

    def _name(self, transaction: str) -> str:
        return f"{self._peer.plan.name}.{transaction}"

    async def _transact(self, step: r.Transact) -> Plain:
        peer, transaction = self._peer, step.transaction
        place = transaction, step.topic, step.partition
        if transaction not in self._producers:
            self._producers[transaction] = await peer.side.begin_transaction(self._name(transaction))
            peer.labels.producers[self._producers[transaction]] = transaction
        sequence = self._sequences.get(place, 0)
        self._sequences[place] = sequence + step.count
        spec = BatchSpec(step.tag, step.count, producer=0, sequence=sequence, transactional=True)
        batch = batch_bytes(spec, self._producers[transaction], peer.base_ms)
        assert batch is not None
        return await peer.side.append_transactional(
            self._name(transaction), peer.name(step.topic), step.partition, batch
        )


def _by_topic(parts: Iterable[Any]) -> list[tuple[str, list[Any]]]:
    """Return the parts of a request by topic. A topic that comes again after another one is sent again."""
    grouped: list[tuple[str, list[Any]]] = []
    for part in parts:
        if not grouped or grouped[-1][0] != part.topic:
            grouped.append((part.topic, []))
        grouped[-1][1].append(part)
    return grouped


def _topic(peer: Peer, topic: Any) -> str:
    """Return the label of the topic of a response, which has a name or an id."""
    if hasattr(topic, "topic"):
        name: str = topic.topic
        return peer.labels.names.get(name, name)
    topic_id: UUID | None = topic.topic_id
    return peer.labels.topic_id(topic_id)
