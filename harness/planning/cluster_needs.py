"""What a cluster needs of the machine, as its kind says."""

from __future__ import annotations

from harness.plugins import registry
from harness.plugins.cluster import ClusterNeeds
from harness.system import needs


def needs_of(broker: str) -> ClusterNeeds:
    """What a cluster of ``broker`` (``kind:id``) needs; a kind that does not say is one JVM."""
    kind, _, broker_id = broker.partition(":")
    say = getattr(registry.broker(kind), "needs", None)
    return needs.kraft(1) if say is None else say(broker_id)
