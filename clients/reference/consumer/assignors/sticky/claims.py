"""Which partitions each member owned before this rebalance, from what all members say about themselves.

Two members can claim the same partition if one of them missed a rebalance. The member of the newer generation keeps it
(KIP-792). In the same generation neither can be trusted, so neither keeps it.

Source: AbstractStickyAssignor.allSubscriptionsEqual.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from clients.reference.consumer.assignors.assignor import (
    Assignment,
    PartitionsPerTopic,
    Subscription,
    TopicPartition,
)
from clients.reference.consumer.assignors.sticky.user_data import DEFAULT_GENERATION, MemberData


@dataclass(slots=True)
class Claims:
    """``owned`` has every member. ``disputed`` are partitions that two members of one generation claimed."""

    owned: Assignment = field(default_factory=dict)
    disputed: set[TopicPartition] = field(default_factory=set)


def settle(
    partitions_per_topic: PartitionsPerTopic,
    subscriptions: Mapping[str, Subscription],
    told: Mapping[str, MemberData],
) -> Claims:
    """Return what each member owned of the partitions that exist.

    As in Java, the generation of an earlier claim is that of the member's subscription, also for the sticky assignor,
    which has the generation in its user data too.
    """
    existing = {(topic, info.partition) for topic, infos in partitions_per_topic.items() for info in infos}
    claims, owner = Claims(), dict[TopicPartition, str]()
    for member, data in told.items():
        mine = claims.owned[member] = []
        for partition in data.partitions:
            if partition not in existing:
                continue
            other = owner.get(partition)
            lead = 1 if other is None else _generation(data) - _subscribed_generation(subscriptions[other])
            if lead < 0:
                continue
            if other is not None and partition in claims.owned[other]:
                claims.owned[other].remove(partition)
            if lead > 0:
                mine.append(partition)
            else:
                claims.disputed.add(partition)
            owner[partition] = member
    return claims


def _generation(data: MemberData) -> int:
    return DEFAULT_GENERATION if data.generation is None else data.generation


def _subscribed_generation(subscription: Subscription) -> int:
    return DEFAULT_GENERATION if subscription.generation_id is None else subscription.generation_id
