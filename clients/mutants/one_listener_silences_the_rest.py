"""A plug-in that fails to hear the cluster's id keeps it from those behind it."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_plugins import ProducerPlugins


class Brittle(ProducerPlugins):
    """Stops telling at the first failure."""

    def cluster_updated(self, cluster_id: str | None) -> None:
        try:
            for listener in self.cluster_listeners:
                listener.on_update(cluster_id)
        except Exception:
            return


COMPONENTS = Components(plugins=Brittle)
