"""What a cluster needs from the machine, according to its kind."""

from __future__ import annotations

from harness.plugins import registry
from harness.plugins.cluster import ClusterNeeds
from harness.system import needs


def needs_of(broker: str) -> ClusterNeeds:
    """Return the needs of a cluster of ``broker`` (``kind:id``). A kind that does not declare them needs one JVM."""
    kind, _, broker_id = broker.partition(":")
    say = getattr(registry.broker(kind), "needs", None)
    return needs.kraft(1) if say is None else say(broker_id)
