"""Nothing wakes the client for a batch that expires: it expires when something else happens."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.sender import Sender


class Sleeper(Sender):
    """Sets no alarm for delivery.timeout.ms."""

    def _next_expiry_ms(self) -> int | None:
        return None


COMPONENTS = Components(sender=Sleeper)
