"""The elements of a plan: topics, requests and faults, as values. Topics and producers have the plan's own names.

A topic is identified by its label and a producer by its index, because each side assigns its own ids. Timestamps are
relative to the time at which the plan is played.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from harness.wire.apis import Api
from testkit.fidelity.group_steps import GroupStep
from testkit.fidelity.reading_steps import ReadingStep
from testkit.fidelity.targets import LEADER
from testkit.fidelity.transaction_steps import TransactionStep

#: The highest versions that can be encoded. A higher one is sent with their bytes and another version number.
HIGHEST: Final[Mapping[int, int]] = {
    Api.PRODUCE: 13,
    Api.METADATA: 13,
    Api.API_VERSIONS: 4,
    Api.FIND_COORDINATOR: 6,
    Api.INIT_PRODUCER_ID: 6,
    Api.FETCH: 18,
    Api.LIST_OFFSETS: 11,
    Api.OFFSET_FOR_LEADER_EPOCH: 4,
    Api.OFFSET_COMMIT: 10,
    Api.OFFSET_FETCH: 10,
    Api.JOIN_GROUP: 9,
    Api.SYNC_GROUP: 5,
    Api.HEARTBEAT: 4,
    Api.LEAVE_GROUP: 5,
    Api.DESCRIBE_GROUPS: 6,
    Api.CONSUMER_GROUP_HEARTBEAT: 1,
    Api.CONSUMER_GROUP_DESCRIBE: 1,
    Api.ADD_PARTITIONS_TO_TXN: 5,
    Api.ADD_OFFSETS_TO_TXN: 4,
    Api.END_TXN: 5,
    Api.TXN_OFFSET_COMMIT: 5,
}


class Defect(StrEnum):
    """The defect of a batch. Everything after ``WHOLE`` has a valid CRC unless its name says otherwise."""

    WHOLE = "whole"
    BAD_CRC = "bad crc"
    NO_BYTES = "no bytes"
    HEADER_ONLY = "header only, no record"
    CUT = "cut off"
    TRAILING_BYTES = "a few bytes behind"
    TWO_BATCHES = "two batches"
    MAGIC_0 = "magic 0"
    MAGIC_1 = "magic 1"
    MAGIC_3 = "magic 3"
    SHORT_LENGTH = "length field too small for a header"
    TINY_LENGTH = "length field of 3"
    NEGATIVE_LENGTH = "negative length field"
    BASE_OFFSET = "base offset 7"
    COUNT_TOO_LARGE = "count larger than the records"
    COUNT_TOO_SMALL = "count smaller than the records"
    NEGATIVE_COUNT = "count -1"
    DELTA_TOO_LARGE = "last offset delta too large"
    CONTROL = "control bit"
    LOG_APPEND_TIME = "log append time bit"
    DELETE_HORIZON = "delete horizon bit"
    UNUSED_BIT = "attribute bit 7"
    UNKNOWN_CODEC = "codec 5"
    NO_SEQUENCE = "producer id without a sequence"
    NO_EPOCH = "producer id without an epoch"
    NOT_COMPRESSED = "says gzip, is not"
    NONSENSE = "the records are noise"
    NONSENSE_INSIDE = "records of the right length, noise inside"
    RECORD_TOO_SHORT = "a record shorter than its fields"
    RECORD_TOO_LONG = "a record with bytes behind its fields"
    SAME_OFFSETS = "every record's offset delta is 0"
    BAD_UTF8_HEADER = "a header's key is no UTF-8"
    MAX_TIMESTAMP_AHEAD = "max timestamp two days ahead of the records'"
    MAX_TIMESTAMP_BEHIND = "max timestamp behind the records'"
    NO_MAX_TIMESTAMP = "max timestamp -1"


@dataclass(frozen=True, slots=True)
class BatchSpec:
    """A batch: ``count`` records with values of ``size_bytes`` that begin with ``tag``.

    ``age_ms`` is the age of the records: negative for the future, None for no timestamp (-1). ``null_keys`` are the
    indexes of records without a key. ``producer`` is None for a batch without idempotence.
    """

    tag: str
    count: int = 1
    codec: str = "NONE"
    size_bytes: int = 12
    age_ms: int | None = 0
    null_keys: tuple[int, ...] = ()
    producer: int | None = None
    epoch: int = 0
    sequence: int = 0
    transactional: bool = False
    defect: Defect = Defect.WHOLE


@dataclass(frozen=True, slots=True)
class Part:
    """A batch for one partition. A topic label that is not in the plan is unknown to the brokers."""

    topic: str
    partition: int
    batch: BatchSpec


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """A topic that exists when the plan begins."""

    label: str
    partitions: int
    config: Mapping[str, str] = field(default_factory=dict)


# Requests


@dataclass(frozen=True, slots=True)
class ApiVersions:
    version: int
    software_name: str = "fidelity"
    software_version: str = "1.0"
    node: int = 1


@dataclass(frozen=True, slots=True)
class Metadata:
    """``topics`` None means all. ``by_id``: by the last known ids of the topics; before version 12 a close."""

    version: int
    topics: tuple[str, ...] | None
    by_id: bool = False
    node: int = 1


@dataclass(frozen=True, slots=True)
class InitProducerId:
    """For producer ``producer``, or a transactional id. ``expected``: (the producer whose id is sent, the epoch)."""

    version: int
    producer: int
    transactional_id: str | None = None
    timeout_ms: int = 60_000
    expected: tuple[int, int] | None = None
    at_coordinator: bool = True


@dataclass(frozen=True, slots=True)
class FindCoordinator:
    version: int
    keys: tuple[str, ...]
    key_type: int = 0
    node: int = 1


@dataclass(frozen=True, slots=True)
class Produce:
    version: int
    acks: int
    parts: tuple[Part, ...]
    timeout_ms: int = 5_000
    node: int = LEADER
    transactional_id: str | None = None


# Faults


@dataclass(frozen=True, slots=True)
class DeleteTopic:
    topic: str


@dataclass(frozen=True, slots=True)
class RecreateTopic:
    topic: str


@dataclass(frozen=True, slots=True)
class AddPartitions:
    topic: str
    total: int


@dataclass(frozen=True, slots=True)
class AlterConfig:
    topic: str
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Trim:
    """DeleteRecords up to ``before_offset``. -1 is the high watermark."""

    topic: str
    partition: int
    before_offset: int


@dataclass(frozen=True, slots=True)
class MoveLeader:
    topic: str
    partition: int
    node: int


@dataclass(frozen=True, slots=True)
class Pause:
    """The node is frozen for the next step, which is a Produce."""

    node: int


@dataclass(frozen=True, slots=True)
class Resume:
    node: int


@dataclass(frozen=True, slots=True)
class Stop:
    """The node stops in an orderly way or (``hard``) at once. The next step follows when the others know it."""

    node: int
    hard: bool = False


@dataclass(frozen=True, slots=True)
class Start:
    node: int


Ask = ApiVersions | Metadata | InitProducerId | FindCoordinator | Produce
Fault = (
    DeleteTopic
    | RecreateTopic
    | AddPartitions
    | AlterConfig
    | Trim
    | MoveLeader
    | Pause
    | Resume
    | Stop
    | Start
)
Step = Ask | Fault | ReadingStep | GroupStep | TransactionStep


@dataclass(frozen=True, slots=True)
class FidelityPlan:
    """A plan. ``name`` is unique in a session, since it is the prefix of the plan's topic names."""

    name: str
    nodes: int
    topics: tuple[TopicSpec, ...]
    steps: tuple[Step, ...]
