"""The broker kind ``named``: clusters with names, each of which is a cluster of the kind ``local``.

A name keeps plans and command lines stable when the version that it stands for changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from kafka_trial.api import BrokerKind, Cluster, ClusterNeeds, broker, unknown

#: Name -> the id of a cluster of the kind ``local``.
CLUSTERS: Mapping[str, str] = {"one": "4.3.1x1", "three": "4.3.1x3"}


class NamedKind:
    """``named:NAME`` (:class:`kafka_trial.api.BrokerKind`)."""

    name = "named"
    summary = "a cluster of the kind local, by a name for it"
    examples = tuple(CLUSTERS)

    def validate(self, broker_id: str) -> None:
        """Raise UsageError for an unknown name."""
        broker("local").validate(_meant(broker_id))

    def needs(self, broker_id: str) -> ClusterNeeds:
        """Return what the cluster needs of the machine."""
        return broker("local").needs(_meant(broker_id))

    def cluster(self, broker_id: str, lanes: int, log_dir: Path) -> AbstractAsyncContextManager[Cluster]:
        """Run the cluster that the name stands for."""
        return broker("local").cluster(_meant(broker_id), lanes, log_dir)


def _meant(broker_id: str) -> str:
    if broker_id not in CLUSTERS:
        raise unknown("cluster", broker_id, CLUSTERS)
    return CLUSTERS[broker_id]


NAMED: BrokerKind = NamedKind()
