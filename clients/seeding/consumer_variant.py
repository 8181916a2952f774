"""Components for mutants of a consumer's parts that ``Components`` does not name.

Only properties can catch such a mutant. As a client it behaves like the true client.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clients.reference.consumer.assignors.assignor import Assignor
from clients.reference.consumer.assignors.range_assignor import RangeAssignor
from clients.reference.consumer.assignors.round_robin_assignor import RoundRobinAssignor
from clients.reference.consumer.assignors.sticky.cooperative_sticky_assignor import CooperativeStickyAssignor
from clients.reference.consumer.assignors.sticky.sticky_assignor import StickyAssignor
from clients.reference.consumer.components import Components
from clients.reference.consumer.consumer import ConsumerCore
from clients.reference.consumer.request_future import RequestFuture
from clients.reference.transport.consumer_driver import ConsumerDriver


@dataclass(frozen=True)
class ConsumerVariant(Components):
    """Components with more classes: the whole core, futures, the driver with threads, and the assignors."""

    core: type[ConsumerCore] = ConsumerCore
    future: type[RequestFuture[Any]] = RequestFuture
    driver: type[ConsumerDriver] = ConsumerDriver
    assignors: tuple[type[Assignor], ...] = (
        RangeAssignor,
        RoundRobinAssignor,
        StickyAssignor,
        CooperativeStickyAssignor,
    )


def variant_of(components: Components) -> ConsumerVariant:
    """Return components with the usual classes of everything that they do not name."""
    if isinstance(components, ConsumerVariant):
        return components
    return ConsumerVariant(**vars(components))
