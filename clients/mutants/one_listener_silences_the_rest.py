"""If a plug-in raises when it is told the cluster id, the plug-ins after it are not told."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_plugins import ProducerPlugins
from clients.seeding.mutant import Mutant


class Brittle(ProducerPlugins):
    """Stops at the first listener that raises."""

    def cluster_updated(self, cluster_id: str | None) -> None:
        try:
            for listener in self.cluster_listeners:
                listener.on_update(cluster_id)
        except Exception:
            return


MUTANT = Mutant(
    "does not tell the cluster id to the plug-ins after one that raises",
    Components(plugins=Brittle),
    caught_by=("delivery/whoever_asks_hears_the_cluster_id",),
    breaks=("PRD-ISP-05",),
)
