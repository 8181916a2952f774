"""A plug-in that fails to hear the cluster's id keeps it from those behind it."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_plugins import ProducerPlugins
from clients.seeding.mutant import Mutant


class Brittle(ProducerPlugins):
    """Stops telling at the first failure."""

    def cluster_updated(self, cluster_id: str | None) -> None:
        try:
            for listener in self.cluster_listeners:
                listener.on_update(cluster_id)
        except Exception:
            return


MUTANT = Mutant(
    "tells nobody the cluster's id behind a plug-in that raises",
    Components(plugins=Brittle),
    caught_by=("delivery/whoever_asks_hears_the_cluster_id",),
    breaks=("PRD-ISP-05",),
)
