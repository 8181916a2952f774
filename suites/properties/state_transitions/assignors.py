"""Assignors: every partition once, to members that want it, evenly, and with as few moves as possible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from hypothesis import strategies as st

from clients.reference.consumer.assignors.assignor import (
    Assignment,
    PartitionInfo,
    RebalanceProtocol,
    Subscription,
)
from clients.reference.consumer.components import Components
from clients.seeding.consumer_variant import variant_of
from suites.properties.property import consumer_property, example

TOPICS = ("a", "b")
MEMBERS = st.dictionaries(
    st.sampled_from(["m1", "m2", "m3", "m4"]),
    st.sets(st.sampled_from(TOPICS), min_size=1),
    min_size=1,
)
COUNTS = st.fixed_dictionaries({topic: st.integers(0, 6) for topic in TOPICS})


def _partitions(counts: Mapping[str, int]) -> dict[str, tuple[PartitionInfo, ...]]:
    return {topic: tuple(map(PartitionInfo, range(count))) for topic, count in counts.items() if count}


@consumer_property("CSM-GRP-14", "CSM-GRP-04", members=MEMBERS, counts=COUNTS)
@example(members={"m1": {"a"}, "m2": {"a", "b"}}, counts={"a": 3, "b": 2})
def each_partition_has_one_owner_that_wants_it(
    components: Components, members: dict[str, set[str]], counts: dict[str, int]
) -> None:
    """Every partition of a subscribed topic goes to exactly one member, which has subscribed to the topic."""
    told = {member: Subscription(tuple(sorted(topics))) for member, topics in members.items()}
    wanted = set().union(*members.values())
    due = {(topic, index) for topic, count in counts.items() if topic in wanted for index in range(count)}
    known = _partitions({topic: count for topic, count in counts.items() if topic in wanted})
    for kind in variant_of(components).assignors:
        assignment = kind().assign(known, told)
        assert assignment.keys() == members.keys()
        given = Counter(each for partitions in assignment.values() for each in partitions)
        assert set(given) == due and set(given.values()) <= {1}, f"{kind.name}: {assignment}"
        for member, partitions in assignment.items():
            assert {topic for topic, _ in partitions} <= members[member], (
                f"{member} does not want {partitions}"
            )


@consumer_property("CSM-GRP-14", count=st.integers(1, 12), members=st.integers(1, 5))
@example(count=7, members=3)
def members_get_equally_much(components: Components, count: int, members: int) -> None:
    """Members with the same subscription get numbers of partitions that differ by at most one."""
    told = {f"m{number}": Subscription(("a",)) for number in range(members)}
    for kind in variant_of(components).assignors:
        assignment = kind().assign(_partitions({"a": count}), told)
        sizes = sorted(map(len, assignment.values()))
        assert sizes[-1] - sizes[0] <= 1, f"{kind.name}: {sizes}"


@consumer_property(
    "CSM-GRP-11",
    count=st.integers(1, 10),
    members=st.integers(1, 4),
    joins=st.integers(0, 2),
    leaves=st.booleans(),
)
@example(count=6, members=2, joins=1, leaves=False)
def sticky_assignors_move_no_more_than_they_must(
    components: Components, count: int, members: int, joins: int, leaves: bool
) -> None:
    """A cooperative member keeps what it has up to its fair share, and nothing moves before its owner gave it up."""
    partitions = _partitions({"a": count})
    for kind in variant_of(components).assignors:
        assignor = kind()
        if RebalanceProtocol.COOPERATIVE not in assignor.supported_protocols:
            continue
        first = {f"m{number}": Subscription(("a",)) for number in range(members)}
        before: Assignment = assignor.assign(partitions, first)
        staying = sorted(first)[1:] if leaves and members > 1 else sorted(first)
        told = {
            member: Subscription(("a",), owned_partitions=tuple(before[member]), generation_id=1)
            for member in staying
        }
        told |= {f"n{number}": Subscription(("a",)) for number in range(joins)}
        after = assignor.assign(partitions, told)
        share = -(-count // len(told))
        for member in staying:
            kept = set(before[member]) & set(after[member])
            assert len(kept) >= min(len(before[member]), share - 1), f"{member} keeps {sorted(kept)}"
            taken = set(before[member]) - kept
            for other, given in after.items():
                moved = taken & set(given)
                assert not moved, f"{sorted(moved)} go from {member} to {other} in one step"
