"""The assignors that a consumer can name in ``partition.assignment.strategy``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from clients.reference.consumer.assignors.assignor import Assignor
from clients.reference.consumer.assignors.range_assignor import RangeAssignor
from clients.reference.consumer.assignors.round_robin_assignor import RoundRobinAssignor
from clients.reference.consumer.assignors.sticky.cooperative_sticky_assignor import CooperativeStickyAssignor
from clients.reference.consumer.assignors.sticky.sticky_assignor import StickyAssignor

ASSIGNORS: Final[Mapping[str, type[Assignor]]] = MappingProxyType(
    {
        RangeAssignor.name: RangeAssignor,
        RoundRobinAssignor.name: RoundRobinAssignor,
        StickyAssignor.name: StickyAssignor,
        CooperativeStickyAssignor.name: CooperativeStickyAssignor,
    }
)
"""The assignors by name. Every consumer makes its own instances."""

JAVA_ASSIGNORS: Final[Mapping[str, type[Assignor]]] = MappingProxyType(
    {
        "org.apache.kafka.clients.consumer.RangeAssignor": RangeAssignor,
        "org.apache.kafka.clients.consumer.RoundRobinAssignor": RoundRobinAssignor,
        "org.apache.kafka.clients.consumer.StickyAssignor": StickyAssignor,
        "org.apache.kafka.clients.consumer.CooperativeStickyAssignor": CooperativeStickyAssignor,
    }
)
"""The same assignors, by the names of Java's classes."""
