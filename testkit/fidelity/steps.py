"""What a plan is made of: topics, requests and faults, as values. Names of topics and producers are the plan's own.

A topic is meant by its label, a producer by its index: ids are what a side gives them. Timestamps are relative to the
moment at which the plan is played.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from harness.wire.apis import Api

#: Whom a request goes to instead of a node: the leader of the first partition named, or a node that is not.
LEADER, NOT_LEADER = -1, -2

#: The highest versions that can be written; what is above has their bytes under another number.
HIGHEST: Final[Mapping[int, int]] = {
    Api.PRODUCE: 13,
    Api.METADATA: 13,
    Api.API_VERSIONS: 4,
    Api.FIND_COORDINATOR: 6,
    Api.INIT_PRODUCER_ID: 6,
}


class Defect(StrEnum):
    """What is wrong with a batch; everything after ``WHOLE`` has a CRC that fits unless the name says otherwise."""

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
    """A batch: ``count`` records of ``size_bytes`` values that begin with ``tag``.

    ``age_ms``: how long ago the records were made, negative for the future, None for no timestamp (-1). ``null_keys``
    are the indexes of records without a key. ``producer`` None: without idempotence.
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
    """A batch for one partition. A topic's label that the plan has no topic for is unknown to the brokers."""

    topic: str
    partition: int
    batch: BatchSpec


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """A topic that is there when the plan begins."""

    label: str
    partitions: int
    config: Mapping[str, str] = field(default_factory=dict)


# requests


@dataclass(frozen=True, slots=True)
class ApiVersions:
    version: int
    software_name: str = "fidelity"
    software_version: str = "1.0"
    node: int = 1


@dataclass(frozen=True, slots=True)
class Metadata:
    """``topics`` None: all. ``by_id``: by the ids that the topics had when they were last seen; before 12 a close."""

    version: int
    topics: tuple[str, ...] | None
    by_id: bool = False
    node: int = 1


@dataclass(frozen=True, slots=True)
class InitProducerId:
    """For the producer ``producer``, or for a transactional id. ``expected``: (whose id is sent along, its epoch)."""

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


# faults


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
    """DeleteRecords up to ``before_offset``, -1: the high watermark."""

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
    """The node ends, in good order or (``hard``) at once; what follows comes when the others know."""

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
Step = Ask | Fault


@dataclass(frozen=True, slots=True)
class Plan:
    """``name`` is unique among the plans of a session: it begins the names of the plan's topics."""

    name: str
    nodes: int
    topics: tuple[TopicSpec, ...]
    steps: tuple[Step, ...]
