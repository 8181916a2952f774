"""All perturbations by name, and the defects that no perturbation can show yet, with the reason.

The entry-point group ``kafka_trial.perturbations`` adds further ones: each entry is a sequence of perturbations.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.errors import KafkaTrialError
from harness.plugins import registry
from suites.perturbations import (
    acknowledged_places,
    contents,
    copies,
    homes,
    losses,
    order,
    producer_ids,
    requests,
    results,
    tampering,
    timestamps,
    traces,
)
from suites.perturbations.limits.table import PERTURBATIONS as LIMITS
from suites.perturbations.perturbation import Perturbation

PERTURBATIONS: tuple[Perturbation, ...] = (
    *losses.PERTURBATIONS,
    *copies.PERTURBATIONS,
    *order.PERTURBATIONS,
    *contents.PERTURBATIONS,
    *timestamps.PERTURBATIONS,
    *acknowledged_places.PERTURBATIONS,
    *homes.PERTURBATIONS,
    *producer_ids.PERTURBATIONS,
    *requests.PERTURBATIONS,
    *results.PERTURBATIONS,
    *traces.PERTURBATIONS,
    *tampering.PERTURBATIONS,
    *LIMITS,
)

#: Maps a defect to the reason why no check judges it: the evidence lacks something, or the defect breaks no
#: promise.
NOT_JUDGED: Mapping[str, str] = {
    "other-partitioner": (
        "hashes keys with another function than Java's: each key still has one partition, and no client promises the "
        "same"
    ),
    "uneven-partitions": "prefers one partition for records without a key: no promise says how even is even",
    "callbacks-out-of-order": (
        "reports the records of a partition out of order: adapters report many at a time, in their own order"
    ),
    "callback-on-other-thread": "calls back on a thread of the application: no channel tells of threads",
    "memory-unbounded": "keeps more than buffer.memory: no channel tells how much memory a client has",
    "busy-loop": "uses a whole core while it waits: no channel tells how much time the process had",
    "compression-level": "compresses at another level than configured: batches do not say at which they were made",
    "linger-ignored": (
        "sends each record at once: the calls of one command are stamped together, so that no wait can be measured"
    ),
    "small-batches": "fills batches to less than batch.size: it is an upper limit",
    "leader-ignored": (
        "sends to a broker that does not lead the partition: rows of Metadata answers do not say which one does"
    ),
    "old-metadata-used": "goes by Metadata that is older than metadata.max.age.ms: rows do not say what was in it",
    "connection-left-open": (
        "does not close a connection when it is closed: the end of its process closes it at the same time"
    ),
    "wrong-host": "connects to an address that no broker advertises: such a connection passes no witness",
    "old-version-spoken": (
        "speaks an older version of an API than both sides know: no promise depends on it"
    ),
    "client-id-missing": "sends no client.id: quotas and logs of brokers depend on it, no record does",
    "fsync-assumed": "takes a broker's answer for a write to disk: Kafka promises replicas, not disks",
    "reconnect-storm": (
        "connects again without a pause, or for each request: only the reference client's trace shows the pause"
    ),
    "empty-requests": "sends ApiVersions or empty Produce requests by the thousand: no promise bounds them",
    "administration": (
        "asks a broker to delete topics, or sends a consumer's requests: only Produce requests are judged"
    ),
    "produce-timeout": "asks brokers to answer within another time than it should: rows do not say which",
    "large-batches": (
        "fills batches or requests beyond their limits: only laws of the reference client judge it"
    ),
    "metadata-never-asked": "asks for no Metadata: it is seen when leaders move",
    "results-held": "reports records only when it is flushed: no promise says how soon a result is told",
    "idle-in-calm": "sends nothing for a while with records waiting: liveness is judged after faults",
}


def perturbations() -> dict[str, Perturbation]:
    """Return all perturbations by name, built-in or of another distribution.

    Raise KafkaTrialError for a duplicate name.
    """
    found: dict[str, Perturbation] = {}
    for each in (each for entry in registry.table("perturbations").values() for each in entry):
        if found.setdefault(each.name, each) is not each:
            raise KafkaTrialError(
                "perturbation-named-twice", "two perturbations are called {name!r}", name=each.name
            )
    return found
