"""The permitted differences between scripted and real brokers, with the reason why each remains.

``KNOWN`` lists the differences that plans encounter, and the comparison permits no others. ``NOT_PLAYED`` lists what no
plan does, because a side cannot do it, or because it would only show how a broker fails on bytes that no client writes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final


def _any(_real: Any, _scripted: Any) -> bool:
    return True


def _only_real(_real: Any, scripted: Any) -> bool:
    return bool(scripted == "absent")


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """A permitted difference in the responses to ``api`` at ``path`` (a pattern), if ``holds`` accepts both values."""

    name: str
    api: str
    path: str
    reason: str
    holds: Callable[[Any, Any], bool] = _any

    def allows(self, api: str, path: str, real: Any, scripted: Any) -> bool:
        """Return whether this entry permits a difference."""
        return self.api == api and fnmatchcase(path, self.path) and self.holds(real, scripted)


KNOWN: Final[tuple[KnownDifference, ...]] = (
    KnownDifference(
        "APIs that are not offered",
        "ApiVersions",
        "api_keys.*",
        "The scripted brokers offer what a client under trial asks for; administering a cluster is not part of it.",
        _only_real,
    ),
    KnownDifference(
        "features",
        "ApiVersions",
        "*features*",
        "The scripted brokers have one feature, transaction.version, because clients follow no other (KIP-584).",
    ),
)

NOT_PLAYED: Final[tuple[tuple[str, str], ...]] = (
    (
        "Produce 0 to 2 on 3.9.2",
        "Real brokers offer and accept these versions, with batches of format 2 as well. The harness cannot encode or"
        " decode them, and no client under trial uses them with a broker that offers more. Scripted brokers close the"
        " connection.",
    ),
    (
        "Requests while a transaction's markers are being written",
        "How long that takes is a matter of time, so plans wait for the end of each transaction. The scripted brokers'"
        " own tests cover it, with a delay that they choose.",
    ),
    (
        "Batches with an epoch that the transaction coordinator has not given",
        "A partition accepts them outside of a transaction, and later refuses the marker of one. The transaction then"
        " stays prepared until its coordinator changes. The scripted brokers' own tests cover it.",
    ),
    (
        "Timeouts of transactions, expiry of transactional ids",
        "A real broker looks for them every ten seconds and every hour, a scripted one acts exactly in time.",
    ),
    (
        "Exhausted epochs of a transactional id",
        "A plan would need 32,767 transactions. The scripted brokers' own tests cover them.",
    ),
    (
        "Markers that a leader cannot replicate",
        "A real coordinator writes them again every 30 seconds. A scripted one waits, and writes one.",
    ),
    (
        "The first InitProducerId after a broker's start",
        "COORDINATOR_LOAD_IN_PROGRESS, until the broker has its first block of ids. Scripted brokers have a block at"
        " once; error injection can produce the same error.",
    ),
    (
        "Which node coordinates",
        "A real broker chooses by the leaders of an internal topic, a scripted one by the nodes that are alive.",
    ),
    (
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "The ISR would have to shrink between append and answer. Scripted brokers return it only by error injection.",
    ),
    (
        "Expiry of producer state",
        "A real broker checks for expiry every 10 minutes, by the records' own timestamps, and also at a start after an"
        " orderly stop (which is why the plans' single node is killed). A scripted one uses its own clock.",
    ),
    (
        "compression.type other than producer",
        "A real broker recompresses the batch; a scripted one stores it unchanged.",
    ),
    (
        "Which member leads after the leader left several others",
        "Kafka takes the first one in a hash map of random ids. A plan in which this would happen does not send the"
        " request.",
    ),
    (
        "The order of members and topics in an assignment of KIP-848",
        "Kafka follows hash maps of member ids and of topic ids. Plans choose member ids that have the same order in a"
        " hash map and in the alphabet, and let the uniform assignor assign one topic.",
    ),
    (
        "The uniform assignor with different subscriptions in a group",
        "A scripted broker balances more simply.",
    ),
    (
        "group.consumer.assignment.interval.ms, group.consumer.assignor.offload.enable",
        "By default, brokers of 4.3 assign at most once a second and in the background, so that a member may learn its"
        " partitions with a later heartbeat. Scripted brokers assign with each heartbeat that needs it, as real ones"
        " did before; the real brokers of the comparison are configured to do so.",
    ),
    (
        "Regular expressions in groups of KIP-848",
        "A real broker resolves them in the background, with RE2J. A scripted one resolves them with the heartbeat, and"
        " with Python's syntax.",
    ),
    (
        "A group that changes between the classic protocol and KIP-848",
        "Both convert it while it has members. Who gets what depends on the order of member ids that brokers choose, so"
        " it is compared by live and simulated trials of the same scenarios (`group/upgrade-*`), and not by plans.",
    ),
    (
        "Timeouts of sessions and rebalances",
        "They would decide by the speed of the machine. The scripted brokers' own tests cover them with their clock.",
    ),
    (
        "Fetch from followers",
        "How far a follower has copied its leader's high watermark is a matter of time.",
    ),
    (
        "Fetch below version 4, OffsetFetch 0, OffsetCommit 0 and 1, OffsetForLeaderEpoch 0 and 1, ListOffsets 0",
        "The harness cannot encode or decode them. Brokers since 4.0 do not offer them.",
    ),
    (
        "Null records in a partition",
        "A real broker never responds and stops reading the connection; a scripted one returns INVALID_RECORD.",
    ),
    (
        "Batches of fewer than 51 bytes, codec 5 to 7 before Produce 7",
        "A real broker fails on them: UNKNOWN_SERVER_ERROR for every partition of the request.",
    ),
    (
        "A compressed record whose length contradicts its fields",
        "Real brokers use the fields and may store what no consumer can read; a scripted one returns INVALID_RECORD.",
    ),
    (
        "A key, value or header value of a length below -1",
        "Real brokers treat it as null; a scripted one returns INVALID_RECORD, because the harness's own reader rejects"
        " such a record.",
    ),
)


def reason(api: str, path: str, real: Any, scripted: Any) -> KnownDifference | None:
    """Return the entry that permits a difference, or None."""
    return next((known for known in KNOWN if known.allows(api, path, real, scripted)), None)
