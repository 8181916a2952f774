"""What the application plugged in is not closed with the client."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_plugins import ProducerPlugins


class Leaky(ProducerPlugins):
    """Leaves them open."""

    def close(self) -> None:
        pass


COMPONENTS = Components(plugins=Leaky)
