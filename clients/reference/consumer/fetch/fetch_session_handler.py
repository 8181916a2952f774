"""FetchSessionHandler: the incremental fetch session with one broker (KIP-227; CSM-FET-10).

A full request lists every partition and creates a session. The following ones carry the session's id, an epoch that
rises by one, and only what changed: partitions that are new or whose position moved, and those to forget. After any
doubt (an error, a lost response, a response that does not fit) the next request is full again, and closes the old
session. From Fetch version 13 on, topics are identified by id; a topic that was created again is first forgotten under
its old id.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from clients.reference.consumer.fetch.fetch_response import FetchAnswer
from clients.reference.metadata.topic_metadata import TopicPartition
from clients.reference.ports import INT32_MAX
from harness.wire.error_table import BY_NAME

BY_ID_LOWEST = 13
NO_SESSION = 0
FIRST_EPOCH = 0
LAST_EPOCH = -1
OldIds = tuple[tuple[TopicPartition, UUID | None], ...]
_SESSION_NOT_FOUND = BY_NAME["FETCH_SESSION_ID_NOT_FOUND"].code


@dataclass(frozen=True, slots=True)
class FetchMetadata:
    """Session and epoch of a request. Epoch 0 asks for a new session, -1 for none; both end the session with the id."""

    session_id: int = NO_SESSION
    epoch: int = FIRST_EPOCH

    @property
    def is_full(self) -> bool:
        """Whether the request lists all partitions."""
        return self.epoch in (FIRST_EPOCH, LAST_EPOCH)

    def next(self) -> FetchMetadata:
        """Return what follows a successful request of this session. The epoch after the largest is 1."""
        return FetchMetadata(self.session_id, 1 if self.epoch >= INT32_MAX else self.epoch + 1)

    def next_new(self) -> FetchMetadata:
        """Return the request for a new session that ends this one."""
        return FetchMetadata(self.session_id, FIRST_EPOCH)

    def next_last(self) -> FetchMetadata:
        """Return the request that ends this session."""
        return FetchMetadata(self.session_id, LAST_EPOCH)


@dataclass(frozen=True, slots=True)
class FetchPartition:
    """What a request asks of one partition. ``leader_epoch`` is None if the client does not know it."""

    topic_id: UUID | None
    fetch_offset: int
    leader_epoch: int | None
    max_bytes: int


@dataclass(frozen=True, slots=True)
class FetchRequestData:
    """One request: ``to_send`` are the partitions in it, ``partitions`` all partitions of the session afterwards.

    ``to_forget`` leave the session. ``to_replace`` are those whose topic has another id now: they leave under their old
    id and return in ``to_send``. Both are pairs of a partition and its old id.
    """

    metadata: FetchMetadata
    to_send: Mapping[TopicPartition, FetchPartition]
    to_forget: OldIds
    to_replace: OldIds
    partitions: Mapping[TopicPartition, FetchPartition]
    uses_topic_ids: bool


class FetchSessionHandler:
    """The session with one node (FetchSessionHandler in Java). One request is outstanding at a time."""

    def __init__(self) -> None:
        self._next = FetchMetadata()
        self._partitions: dict[TopicPartition, FetchPartition] = {}
        #: The names of the topics in the session by id. Empty if the session does not use ids.
        self.topic_names: dict[UUID, str] = {}

    @property
    def session_id(self) -> int:
        """The id of the session that the next request belongs to. 0 means that there is none."""
        return self._next.session_id

    @property
    def partitions(self) -> Mapping[TopicPartition, FetchPartition]:
        """The partitions in the session, in the order in which they joined it."""
        return self._partitions

    # Requests

    def build(self, wanted: Mapping[TopicPartition, FetchPartition]) -> FetchRequestData:
        """Return the next request, after which the session has exactly the ``wanted`` partitions."""
        to_send: Mapping[TopicPartition, FetchPartition] = dict(wanted)
        to_forget: OldIds = ()
        to_replace: OldIds = ()
        if not self._next.is_full:
            to_send = self._changed(wanted)
            to_forget = self._forget(wanted)
            to_replace = self._replaced(to_send)
        self._partitions = {**self._partitions, **wanted} if not self._next.is_full else dict(wanted)
        uses_ids = all(each.topic_id for each in wanted.values()) and all(old for _, old in to_forget)
        self.topic_names = (
            {each.topic_id: topic for (topic, _), each in wanted.items() if each.topic_id} if uses_ids else {}
        )
        return FetchRequestData(self._next, to_send, to_forget, to_replace, dict(self._partitions), uses_ids)

    def _changed(
        self, wanted: Mapping[TopicPartition, FetchPartition]
    ) -> dict[TopicPartition, FetchPartition]:
        """Return the partitions that the broker does not know yet, and after them those that have changed."""
        known = self._partitions
        added = {partition: each for partition, each in wanted.items() if partition not in known}
        altered = {
            partition: wanted[partition]
            for partition, before in known.items()
            if partition in wanted and wanted[partition] != before
        }
        return added | altered

    def _forget(self, wanted: Mapping[TopicPartition, FetchPartition]) -> OldIds:
        """Remove the partitions that are no longer wanted, and return them."""
        gone = [partition for partition in self._partitions if partition not in wanted]
        return tuple((partition, self._partitions.pop(partition).topic_id) for partition in gone)

    def _replaced(self, sent: Mapping[TopicPartition, FetchPartition]) -> OldIds:
        """Return those of the partitions to send that the session has under another topic id."""
        old_ids = [
            (partition, self._partitions[partition].topic_id)
            for partition in sent
            if partition in self._partitions
        ]
        return tuple(
            (partition, old)
            for partition, old in old_ids
            if old and sent[partition].topic_id not in (None, old)
        )

    # Responses

    def handle_response(self, answer: FetchAnswer) -> bool:
        """Advance the session. Return whether the response can be used: it has no error and fits the session."""
        usable = not answer.error.code and self._fits(answer)
        if usable and answer.session_id != NO_SESSION:
            begun = FetchMetadata(answer.session_id) if self._next.is_full else self._next
            self._next = begun.next()
        elif (
            usable
            or answer.error.code == _SESSION_NOT_FOUND
            or (self._next.is_full and not answer.error.code)
        ):
            self._next = FetchMetadata()
        else:
            self._next = self._next.next_new()
        return usable

    def _fits(self, answer: FetchAnswer) -> bool:
        """Return whether the response has the partitions of the session: all of them if the request was full.

        A broker that throttles answers a full request without partitions, which is not a response either (KIP-219).
        """
        known = answer.partitions.keys() <= self._partitions.keys()
        if answer.version >= BY_ID_LOWEST:
            known = known and answer.topic_ids <= self.topic_names.keys()
        return known and (not self._next.is_full or len(answer.partitions) == len(self._partitions))

    def handle_error(self) -> None:
        """Note that no response will come. The broker may have processed the request, so its session is unknown."""
        self._next = self._next.next_new()

    def notify_close(self) -> None:
        """Make the next request end the session."""
        self._next = self._next.next_last()
