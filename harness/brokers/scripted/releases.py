"""The differences between the scripted releases of Kafka: the versions that they offer, and one default.

The ranges are those of a broker's ApiVersions response, with stable versions only. Not every API in it is scripted: a
request for another one closes the connection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from harness.model.errors import unknown
from harness.wire.apis import Api

Ranges = Mapping[int, tuple[int, int]]

_SINCE_3_9: Final[Ranges] = {
    Api.PRODUCE: (0, 11),
    Api.FETCH: (0, 17),
    Api.LIST_OFFSETS: (0, 9),
    Api.METADATA: (0, 12),
    Api.OFFSET_COMMIT: (0, 9),
    Api.OFFSET_FETCH: (0, 9),
    Api.FIND_COORDINATOR: (0, 6),
    Api.JOIN_GROUP: (0, 9),
    Api.HEARTBEAT: (0, 4),
    Api.LEAVE_GROUP: (0, 5),
    Api.SYNC_GROUP: (0, 5),
    Api.DESCRIBE_GROUPS: (0, 5),
    Api.LIST_GROUPS: (0, 5),
    Api.SASL_HANDSHAKE: (0, 1),
    Api.API_VERSIONS: (0, 4),
    Api.CREATE_TOPICS: (0, 7),
    Api.DELETE_TOPICS: (0, 6),
    Api.DELETE_RECORDS: (0, 2),
    Api.INIT_PRODUCER_ID: (0, 5),
    Api.OFFSET_FOR_LEADER_EPOCH: (0, 4),
    Api.ADD_PARTITIONS_TO_TXN: (0, 5),
    Api.ADD_OFFSETS_TO_TXN: (0, 4),
    Api.END_TXN: (0, 4),
    Api.WRITE_TXN_MARKERS: (0, 1),
    Api.TXN_OFFSET_COMMIT: (0, 4),
    Api.DESCRIBE_CONFIGS: (0, 4),
    Api.SASL_AUTHENTICATE: (0, 2),
    Api.DESCRIBE_CLUSTER: (0, 1),
    Api.DESCRIBE_PRODUCERS: (0, 0),
    Api.DESCRIBE_TOPIC_PARTITIONS: (0, 0),
}
#: Produce is offered from version 0, because an old librdkafka would not connect otherwise, but accepted from version
#: 3.
_SINCE_4_3: Final[Ranges] = {
    **_SINCE_3_9,
    Api.PRODUCE: (0, 13),
    Api.FETCH: (4, 18),
    Api.LIST_OFFSETS: (1, 11),
    Api.METADATA: (0, 13),
    Api.OFFSET_COMMIT: (2, 10),
    Api.OFFSET_FETCH: (1, 10),
    Api.DESCRIBE_GROUPS: (0, 6),
    Api.CREATE_TOPICS: (2, 7),
    Api.DELETE_TOPICS: (1, 6),
    Api.OFFSET_FOR_LEADER_EPOCH: (2, 4),
    Api.END_TXN: (0, 5),
    Api.WRITE_TXN_MARKERS: (1, 2),
    Api.TXN_OFFSET_COMMIT: (0, 5),
    Api.DESCRIBE_CONFIGS: (1, 4),
    Api.DESCRIBE_CLUSTER: (0, 2),
    Api.CONSUMER_GROUP_HEARTBEAT: (0, 1),
    Api.CONSUMER_GROUP_DESCRIBE: (0, 1),
}
_HOUR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class Release:
    """One release: its version ranges, and the topic settings with defaults that differ from Kafka's older ones.

    ``waits_at_batch`` is whether a Fetch from within a batch waits as if it were from the batch's first offset
    (``LogSegment#read``). It is then not answered at once if the whole batch is beyond what it may read.
    ``names_topics_once`` is whether a response of ListOffsets has each topic and partition once.
    ``keeps_assignments`` is whether DescribeGroups has the members' last assignments while the group rebalances.
    ``verifies_epochs`` is whether a partition compares epochs before it takes a batch for one of its open transaction.
    ``transaction_version`` is the level of the feature of that name in a new cluster, and the highest one.
    """

    version: str
    ranges: Ranges
    topic_defaults: Mapping[str, str]
    waits_at_batch: bool
    names_topics_once: bool
    keeps_assignments: bool
    verifies_epochs: bool
    transaction_version: int


RELEASES: Final[Mapping[str, Release]] = {
    "3.9.2": Release(
        "3.9.2",
        _SINCE_3_9,
        {},
        waits_at_batch=False,
        names_topics_once=False,
        keeps_assignments=False,
        verifies_epochs=False,
        transaction_version=0,
    ),
    # KIP-1030: since 4.0, a timestamp more than an hour in the future is rejected by default.
    "4.3.1": Release(
        "4.3.1",
        _SINCE_4_3,
        {"message.timestamp.after.max.ms": str(_HOUR_MS)},
        waits_at_batch=True,
        names_topics_once=True,
        keeps_assignments=True,
        verifies_epochs=True,
        transaction_version=2,
    ),
}


def release(version: str) -> Release:
    """Return the release of that version. Raises UsageError if it is not scripted."""
    if version not in RELEASES:
        raise unknown("version of the scripted brokers", version, RELEASES)
    return RELEASES[version]
