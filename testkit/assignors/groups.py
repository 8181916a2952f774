"""A random group that lives for several generations: members join, leave, restart and change their topics.

Some members miss a rebalance or come back later, so they still claim what they owned in an older generation. Rarely,
one claims what it never had. Topics appear, disappear and grow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from clients.reference.consumer.assignors import ASSIGNORS
from clients.reference.consumer.assignors.assignor import (
    Assignment,
    Assignor,
    PartitionInfo,
    PartitionsPerTopic,
    RebalanceProtocol,
    Subscription,
    TopicPartition,
)
from clients.reference.consumer.consumer_protocol import HIGHEST_VERSION, encode_subscription

TOPICS = ("orders", "payments", "a", "b.c", "audit-log")
RACKS = ("rack-a", "rack-b", "rack-c")
MAX_MEMBERS, MAX_PARTITIONS = 12, 14


@dataclass(slots=True)
class Member:
    """A consumer: its assignor, its settings, and what it was last assigned."""

    assignor: Assignor
    topics: tuple[str, ...]
    rack: str | None
    instance: str | None
    version: int
    owned: tuple[TopicPartition, ...] = ()
    generation: int | None = None

    def subscription(self) -> bytes:
        """Return what the member sends in JoinGroup. An eager member has given up all of its partitions."""
        is_cooperative = RebalanceProtocol.COOPERATIVE in self.assignor.supported_protocols
        told = Subscription(
            topics=self.topics,
            user_data=self.assignor.subscription_user_data(self.topics),
            owned_partitions=self.owned if is_cooperative else (),
            generation_id=self.generation,
            rack_id=self.rack,
        )
        return encode_subscription(told, self.version)

    def on_assignment(self, partitions: list[TopicPartition], generation: int) -> None:
        """Take over an assignment."""
        self.owned, self.generation = tuple(partitions), generation
        self.assignor.on_assignment(partitions, generation)


class Group:
    """The members by id, the topics, and the current generation. What kind of group it is, is drawn once."""

    def __init__(self, random: Random, assignor: str) -> None:
        self.topics: dict[str, tuple[PartitionInfo, ...]] = {}
        self.members: dict[str, Member] = {}
        self._away: list[Member] = []
        self._generation = 0
        self._random = random
        self._assignor = assignor
        self._racks = RACKS[: random.choice((0, 0, 2, 3))]
        self._same_topics = random.random() < 0.5
        self._versions = random.choice(((HIGHEST_VERSION,), (HIGHEST_VERSION,), (0, 1, 2, 3)))
        self._interest = random.choice((0.3, 0.6, 0.8))
        self._missed = random.choice((0, 0.05, 0.4))
        self._co_partitioned = random.random() < 0.3
        self._serial = 0
        for topic in random.sample(TOPICS, random.randint(1, len(TOPICS))):
            self._add_topic(topic)
        for _ in range(random.randint(1, 6)):
            self._join()

    def partitions(self) -> PartitionsPerTopic:
        """Return the partitions of the topics with subscribers, as a leader looks them up."""
        wanted = {topic for member in self.members.values() for topic in member.topics}
        return {topic: infos for topic, infos in self.topics.items() if topic in wanted}

    def rebalanced(self, assignment: Assignment) -> None:
        """Begin the next generation. A member that misses it keeps what it had."""
        self._generation += 1
        for name, member in self.members.items():
            if self._random.random() >= self._missed:
                member.on_assignment(assignment[name], self._generation)

    def rebalances(self) -> Iterator[int]:
        """Yield at each rebalance, which the caller ends with :meth:`rebalanced`. Changes lead to the next one."""
        for number in range(self._random.randint(3, 8)):
            yield number
            self._change()

    def _change(self) -> None:
        for _ in range(self._random.randint(1, 3)):
            changes = {
                self._join: 5,
                self._leave: 3,
                self._restart: 2,
                self._resubscribe: 2,
                self._grow: 2,
                self._halve: 0.5,
                self._claim: 0.5,
                self._lapse: 3,
                self._return: 4,
            }
            self._random.choices([*changes], weights=[*changes.values()])[0]()

    def _join(self) -> None:
        if len(self.members) == MAX_MEMBERS:
            return
        random = self._random
        instance = f"instance-{random.randrange(100)}" if random.random() < 0.3 else None
        if instance in {member.instance for member in (*self.members.values(), *self._away)}:
            instance = None
        self.members[self._name()] = Member(
            assignor=ASSIGNORS[self._assignor](),
            topics=self._some_topics(),
            rack=random.choice((*self._racks, *self._racks, None)) if self._racks else None,
            instance=instance,
            version=random.choice(self._versions),
        )

    def _name(self) -> str:
        self._serial += 1
        return f"consumer-{self._serial}-{self._random.getrandbits(64):016x}"

    def _some_topics(self) -> tuple[str, ...]:
        if self._same_topics and self._random.random() < 0.97:
            return TOPICS
        return tuple(topic for topic in TOPICS if self._random.random() < self._interest)

    def _leave(self) -> None:
        if len(self.members) > 1:
            del self.members[self._random.choice(list(self.members))]

    def _halve(self) -> None:
        """Let half of the members leave, so that the others own much when new ones join."""
        for name in self._random.sample([*self.members], len(self.members) // 2):
            del self.members[name]
        for _ in range(self._random.randint(0, 5)):
            self._join()

    def _lapse(self) -> None:
        """Let the group lose a member that will come back with what it had."""
        if len(self.members) > 1:
            self._away.append(self.members.pop(self._random.choice([*self.members])))

    def _return(self) -> None:
        """Let such a member come back. It has a new member id, and claims what others own by now."""
        if self._away and len(self.members) < MAX_MEMBERS:
            self.members[self._name()] = self._away.pop()

    def _restart(self) -> None:
        """Replace a member by a new process with the same settings, and so a new member id."""
        old = self._random.choice(list(self.members))
        member = self.members.pop(old)
        member.assignor, member.owned, member.generation = ASSIGNORS[self._assignor](), (), None
        self.members[self._name()] = member

    def _resubscribe(self) -> None:
        self._random.choice(list(self.members.values())).topics = self._some_topics()

    def _grow(self) -> None:
        random, topic = self._random, self._random.choice(TOPICS)
        if topic not in self.topics:
            self._add_topic(topic)
        elif random.random() < 0.3 and len(self.topics) > 1:
            self._remove_topic(topic)
        else:
            more = range(len(self.topics[topic]), len(self.topics[topic]) + random.randint(1, 4))
            self.topics[topic] += tuple(self._partition(number) for number in more)

    def _claim(self) -> None:
        """Let a member claim partitions of another one, as after a lost response."""
        owners = [member for member in self.members.values() if member.owned]
        if not owners:
            return
        victim, claimant = self._random.choice(owners), self._random.choice(list(self.members.values()))
        if victim is not claimant:
            stolen = self._random.sample(victim.owned, self._random.randint(1, len(victim.owned)))
            generation = self._random.choice((victim.generation, self._generation))
            claimant.on_assignment([*claimant.owned, *stolen], generation or 0)

    def _add_topic(self, topic: str) -> None:
        count = 6 if self._co_partitioned else self._random.randint(1, MAX_PARTITIONS)
        self.topics[topic] = tuple(self._partition(number) for number in range(count))

    def _remove_topic(self, topic: str) -> None:
        """Delete a topic. No member claims its partitions once it exists again, maybe with fewer of them."""
        del self.topics[topic]
        for member in (*self.members.values(), *self._away):
            if member.generation is not None:
                left = [each for each in member.owned if each[0] != topic]
                member.on_assignment(left, member.generation)

    def _partition(self, number: int) -> PartitionInfo:
        return PartitionInfo(number, frozenset(rack for rack in self._racks if self._random.random() < 0.6))
