"""The assignors that a consumer can name in ``partition.assignment.strategy``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from clients.reference.consumer.assignors.assignor import Assignor
from clients.reference.consumer.assignors.range_assignor import RangeAssignor
from clients.reference.consumer.assignors.round_robin_assignor import RoundRobinAssignor
from clients.reference.consumer.assignors.sticky.cooperative_sticky_assignor import CooperativeStickyAssignor
from clients.reference.consumer.assignors.sticky.sticky_assignor import StickyAssignor

ASSIGNORS: Final[Mapping[str, Callable[[], Assignor]]] = MappingProxyType(
    {
        RangeAssignor.name: RangeAssignor,
        RoundRobinAssignor.name: RoundRobinAssignor,
        StickyAssignor.name: StickyAssignor,
        CooperativeStickyAssignor.name: CooperativeStickyAssignor,
    }
)
"""The assignors by name. Every consumer makes its own instances."""
