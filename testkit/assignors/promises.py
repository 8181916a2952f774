"""What every assignor promises about an assignment, whatever the order in which it looks at the members."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from clients.reference.consumer.assignors.assignor import (
    Assignment,
    PartitionsPerTopic,
    Subscription,
    TopicPartition,
)


def broken_promises(
    partitions_per_topic: PartitionsPerTopic,
    subscriptions: Mapping[str, Subscription],
    assignment: Assignment,
    withheld: Collection[TopicPartition] = (),
) -> list[str]:
    """Return the promises that the assignment breaks.

    Every member has an entry. Every partition of a topic with subscribers has exactly one owner, which is one of them.
    Partitions in ``withheld`` may have none.
    """
    return list(_broken(partitions_per_topic, subscriptions, assignment, set(withheld)))


def _broken(
    partitions_per_topic: PartitionsPerTopic,
    subscriptions: Mapping[str, Subscription],
    assignment: Assignment,
    withheld: set[TopicPartition],
) -> Iterator[str]:
    if assignment.keys() != subscriptions.keys():
        yield f"the assignment has the members {sorted(assignment)}"
    wanted = {topic for told in subscriptions.values() for topic in told.topics}
    expected = {
        (topic, info.partition)
        for topic, infos in partitions_per_topic.items()
        if topic in wanted
        for info in infos
    }
    owner: dict[TopicPartition, str] = {}
    for member, partitions in assignment.items():
        for partition in partitions:
            if partition in owner:
                yield f"{partition} is assigned to {owner[partition]} and to {member}"
            owner[partition] = member
            if partition[0] not in subscriptions[member].topics:
                yield f"{partition} is assigned to {member}, who does not subscribe to it"
    yield from (f"{partition} has no owner" for partition in sorted(expected - owner.keys() - withheld))
    yield from (f"{partition} does not exist" for partition in sorted(owner.keys() - expected))


def imbalance(
    partitions_per_topic: PartitionsPerTopic,
    subscriptions: Mapping[str, Subscription],
    assignment: Assignment,
) -> list[TopicPartition]:
    """Return the partitions whose move to another interested member would make the two more equal."""
    size = {member: len(partitions) for member, partitions in assignment.items()}
    return [
        partition
        for owner, partitions in assignment.items()
        for partition in partitions
        if any(
            size[other] + 1 < size[owner] and partition[0] in told.topics
            for other, told in subscriptions.items()
        )
    ]
