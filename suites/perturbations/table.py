"""All perturbations by name, and the defects that no perturbation can show yet, with the reason.

The entry-point group ``kafka_trial.perturbations`` adds further ones: each entry is a sequence of perturbations.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.errors import KafkaTrialError
from harness.plugins import registry
from harness.plugins.perturbation import Perturbation
from suites.perturbations import (
    acknowledged_places,
    consuming,
    contents,
    copies,
    homes,
    loads,
    losses,
    membership,
    order,
    producer_ids,
    requests,
    results,
    tampering,
    timestamps,
    traces,
    transactions,
)
from suites.perturbations.limits.table import PERTURBATIONS as LIMITS

PERTURBATIONS: tuple[Perturbation, ...] = (
    *losses.PERTURBATIONS,
    *copies.PERTURBATIONS,
    *order.PERTURBATIONS,
    *contents.PERTURBATIONS,
    *timestamps.PERTURBATIONS,
    *acknowledged_places.PERTURBATIONS,
    *homes.PERTURBATIONS,
    *loads.PERTURBATIONS,
    *producer_ids.PERTURBATIONS,
    *requests.PERTURBATIONS,
    *results.PERTURBATIONS,
    *traces.PERTURBATIONS,
    *tampering.PERTURBATIONS,
    *consuming.PERTURBATIONS,
    *membership.PERTURBATIONS,
    *transactions.PERTURBATIONS,
    *LIMITS,
)

#: Maps a defect to the reason why no check judges it: the evidence lacks something, or the defect breaks no
#: promise.
NOT_JUDGED: Mapping[str, str] = {
    "other-partitioner": (
        "hashes keys with another function than Java's: each key still has one partition, and no "
        "client promises the same hash"
    ),
    "uneven-partitions": "prefers one partition for records without a key: no promise defines an even distribution",
    "callbacks-out-of-order": (
        "reports the records of a partition out of order: adapters report many at a time, in their own order"
    ),
    "callback-on-other-thread": "runs callbacks on a thread of the application: no channel contains threads",
    "memory-unbounded": "uses more than buffer.memory: no channel contains a client's memory",
    "busy-loop": "uses a whole core while it waits: no channel contains the CPU time of the process",
    "compression-level": "compresses at another level than configured: batches do not contain the level",
    "linger-ignored": (
        "sends each record at once: the calls of one command have the same timestamp, so no wait "
        "can be measured"
    ),
    "small-batches": "fills batches to less than batch.size: batch.size is only an upper limit",
    "leader-ignored": (
        "sends to a broker that does not lead the partition: the rows of Metadata answers do not "
        "name the leader"
    ),
    "old-metadata-used": "uses metadata that is older than metadata.max.age.ms: the rows do not contain the metadata",
    "connection-left-open": (
        "does not close a connection when it is closed: the end of its process closes the "
        "connection at the same time"
    ),
    "wrong-host": (
        "connects to an address that no broker advertises: such a connection does not pass the witness"
    ),
    "old-version-spoken": (
        "uses an older version of an API than both sides support: no promise depends on it"
    ),
    "client-id-missing": "sends no client.id: only brokers' quotas and logs depend on it",
    "fsync-assumed": "treats a broker's answer as a write to disk: Kafka promises replicas, not writes to disk",
    "reconnect-storm": (
        "asks a broker to delete topics, or sends a consumer's requests: only Produce requests are judged"
    ),
    "empty-requests": "sends thousands of ApiVersions or empty Produce requests: no promise limits them",
    "administration": (
        "asks a broker to delete topics, or sends a consumer's requests: only Produce requests are judged"
    ),
    "produce-timeout": "asks brokers to answer within another time than configured: the rows do not contain the time",
    "large-batches": (
        "fills batches or requests beyond their limits: only properties of the reference client judge this"
    ),
    "metadata-never-asked": "requests no metadata: this shows only when leaders move",
    "results-held": "reports records only when it is flushed: no promise says how soon a result is reported",
    "idle-in-calm": "sends nothing for a while although records wait: liveness is judged only after faults",
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
