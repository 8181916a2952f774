"""A member of a classic group: the moves of its state, and what answers of the coordinator do to its identity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Any

from hypothesis import strategies as st

from clients.reference.consumer.components import Components
from clients.reference.consumer.consumer_protocol import decode_assignment, encode_assignment
from clients.reference.consumer.errors import FencedInstanceIdError
from clients.reference.telemetry.trace import StateChanged
from harness.wire.apis import Api
from suites.oracle import BROKER_MACHINES, CONSUMER_MACHINES
from suites.properties.group_member import Member
from suites.properties.group_simulation import Group
from suites.properties.property import consumer_property, example
from suites.properties.scripted_brokers import Disposition, Seen

ALL = [0, 1, 2, 3]
EAGER = {"partition_assignment_strategy": "range"}
COOPERATIVE = {"partition_assignment_strategy": "cooperative-sticky"}
STRATEGIES = st.sampled_from([EAGER, COOPERATIVE])
FAST = {"session_timeout_ms": 6_000, "heartbeat_interval_ms": 1_000, "enable_auto_commit": False}
GROUP_APIS = (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT)
LIFE = st.sampled_from(["join", "close", "kill", "freeze", "wait", "move", "refuse", "lose"])
MEMBER = CONSUMER_MACHINES["member"]
UNKNOWN_MEMBER, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS = 25, 22, 27


def fates_of(api: Api, *fates: Disposition) -> Callable[[Seen], Disposition]:
    """Return a script for the next requests of an API."""
    left = list(fates)
    return lambda seen: left.pop(0) if seen.api is api and left else None


def alive(group: Group) -> list[Member]:
    """Return the members whose processes run."""
    return [each for each in group.members if each.is_running]


@consumer_property(
    "CSM-GRP-02",
    "CSM-GRP-14",
    strategy=STRATEGIES,
    life=st.lists(
        st.tuples(
            LIFE,
            st.integers(0, 8_000),
            st.sampled_from(GROUP_APIS),
            st.sampled_from([14, 15, 16, 22, 25, 27]),
        ),
        max_size=3,
    ),
)
@example(
    strategy=EAGER,
    life=[
        ("join", 3_000, Api.JOIN_GROUP, 14),
        ("refuse", 0, Api.SYNC_GROUP, 27),
        ("kill", 0, Api.JOIN_GROUP, 14),
    ],
)
@example(
    strategy=COOPERATIVE, life=[("join", 5_000, Api.JOIN_GROUP, 14), ("freeze", 7_500, Api.JOIN_GROUP, 14)]
)
def members_move_as_the_oracle_says(
    components: Components, strategy: dict[str, str], life: list[tuple[str, int, Api, int]]
) -> None:
    """Each move of a member is the oracle's, and once the group has settled each partition has one owner."""
    group = Group(components, nodes=2)
    group.member(**strategy, **FAST).subscribe().polls()
    for event, wait_ms, api, code in life:
        _live(group, event, strategy, api, code)
        group.run(wait_ms)
    if not alive(group):
        group.member(**strategy, **FAST).subscribe().polls()
    group.until(lambda: group.is_settled, 120_000)
    group.run(10_000)
    for member in group.members:
        follows_the_oracle(member)
    _coordinator_follows_the_oracle(group)
    assert sorted(index for each in alive(group) for index in each.owned) == ALL
    assert [error for each in alive(group) for error in each.errors] == []


def _coordinator_follows_the_oracle(group: Group) -> None:
    found = group.cluster.group("g")
    assert found is not None
    legal = {(move.before, move.after) for move in BROKER_MACHINES["classic-group"].moves}
    for before, after in pairwise(found.moves):
        assert (before.value, after.value) in legal, f"the coordinator went from {before} to {after}"


def _live(group: Group, event: str, strategy: dict[str, str], api: Api, code: int) -> None:
    running = alive(group)
    if event == "join" or not running:
        group.member(**strategy, **FAST).subscribe().polls()
    elif event == "close":
        running[0].do(running[0].core.close())
    elif event == "kill":
        running[-1].kill()
    elif event == "freeze":
        running[0].is_frozen = True
        group.run(7_500)
        running[0].is_frozen = False
    elif event == "move":
        group.cluster.move_coordinators()
    elif event == "refuse":
        group.brokers.script = fates_of(api, code)
    elif event == "lose":
        group.brokers.script = fates_of(api, "close-after")


def follows_the_oracle(member: Member, machine: str = "member") -> None:
    """Assert that every move of a member's machine is legal, and begins where the previous one ended."""
    oracle = CONSUMER_MACHINES[machine]
    state = oracle.initial
    for move in member.kinds(StateChanged):
        if move.machine != machine:
            continue
        assert move.before == state, f"left {move.before}, although it was {state}"
        due = oracle.table.get((move.before, move.cause))
        assert due == move.after, f"{move.before} --{move.cause}--> {move.after}, and the oracle has {due}"
        state = move.after
    assert member.coordinator is None or member.coordinator.state.told == state


@consumer_property("CSM-GRP-02", members=st.integers(1, 3), strategy=STRATEGIES)
def the_first_join_gets_an_id_and_the_second_has_it(
    components: Components, members: int, strategy: dict[str, str]
) -> None:
    """A member joins without an id once, and then with the one that the coordinator gave it."""
    group = Group(components)
    for _ in range(members):
        before = len(group.brokers.requests(Api.JOIN_GROUP))
        member = group.member(**strategy, **FAST).subscribe().polls()
        group.until(lambda before=before: group.is_settled or len(_joined_as(group, before)) > 20, 60_000)  # type: ignore[misc]
        joins = _joined_as(group, before)
        assert joins.count("") == 1, f"joined {joins.count('')} times without an id"
        assert member.coordinator.generation.member_id in joins
    assert len(group.cluster.group("g").members) == members  # type: ignore[union-attr]


def _joined_as(group: Group, before: int) -> list[str]:
    return [seen.body.member_id for seen in group.brokers.requests(Api.JOIN_GROUP)[before:]]


@consumer_property("CSM-GRP-04", members=st.integers(2, 3), strategy=STRATEGIES)
def only_the_leader_assigns(components: Components, members: int, strategy: dict[str, str]) -> None:
    """In each generation one member assigns, and the others send no assignment. All partitions are assigned once."""
    group = Group(components)
    for _ in range(members):
        group.joined(**strategy, **FAST)
    syncs = [seen.body for seen in group.brokers.requests(Api.SYNC_GROUP)]
    for generation, bodies in groupby(syncs, key=lambda body: body.generation_id):
        counts = sorted(len(body.assignments) for body in bodies)
        assert counts[:-1] == [0] * (len(counts) - 1), f"{counts} assignments in generation {generation}"
        assert counts[-1] > 0
    assert sorted(index for each in group.members for index in each.owned) == ALL


@consumer_property("CSM-GRP-04", others=st.integers(0, 2), drops=st.sampled_from([[0], [1, 2], ALL]))
def a_member_applies_what_sync_brings_it(components: Components, others: int, drops: list[int]) -> None:
    """A member, also the one that has assigned, has what the coordinator's answer says and nothing else."""
    group = Group(components)
    for _ in range(others):
        group.joined(**EAGER, **FAST)
    edited: list[int] = []

    def less(body: Any) -> Any:
        if not body.assignment:
            return body
        kept = [each for each in decode_assignment(bytes(body.assignment)).partitions if each[1] not in drops]
        edited.append(len(kept))
        return replace(body, assignment=encode_assignment(kept))

    group.brokers.script = lambda seen: seen.edit(less) if seen.api is Api.SYNC_GROUP else None
    for _ in range(2 if not others else 1):
        group.member(**EAGER, **FAST).subscribe().polls()
    group.until(lambda: group.is_settled and bool(edited), 60_000)
    group.run(3_000)
    owned = sorted(index for each in group.members for index in each.owned)
    assert not set(owned) & set(drops), f"{owned} are owned, although the coordinator gave no {drops}"


@consumer_property("CSM-GRP-06", after_ms=st.integers(0, 3_000), times=st.integers(1, 2), strategy=STRATEGIES)
@example(after_ms=500, times=1, strategy=EAGER)
def a_rebalance_makes_a_stable_member_join(
    components: Components, after_ms: int, times: int, strategy: dict[str, str]
) -> None:
    """After a heartbeat that is answered with a rebalance, it joins again with its id in one of its next polls."""
    group = Group(components)
    member = group.joined(**strategy, **FAST)
    group.run(after_ms)
    for _ in range(times):
        before = len(group.brokers.requests(Api.JOIN_GROUP))
        member_id = member.coordinator.generation.member_id
        group.brokers.script = fates_of(Api.HEARTBEAT, REBALANCE_IN_PROGRESS)
        beats = len(group.brokers.requests(Api.HEARTBEAT))
        group.until(lambda beats=beats: len(group.brokers.requests(Api.HEARTBEAT)) > beats, 5_000)  # type: ignore[misc]
        group.run(2_000)
        joins = group.brokers.requests(Api.JOIN_GROUP)[before:]
        assert [seen.body.member_id for seen in joins] == [member_id], "did not join once with its id"
        group.until(lambda: group.is_settled, 60_000)
    assert member.owned == ALL and member.errors == []


@consumer_property(
    "CSM-GRP-07",
    api=st.sampled_from([Api.HEARTBEAT, Api.SYNC_GROUP]),
    code=st.sampled_from([UNKNOWN_MEMBER, ILLEGAL_GENERATION]),
    strategy=STRATEGIES,
)
@example(api=Api.HEARTBEAT, code=UNKNOWN_MEMBER, strategy=EAGER)
@example(api=Api.HEARTBEAT, code=ILLEGAL_GENERATION, strategy=EAGER)
def a_member_keeps_its_id_if_the_coordinator_knows_it(
    components: Components, api: Api, code: int, strategy: dict[str, str]
) -> None:
    """After UNKNOWN_MEMBER_ID the member joins without an id, after ILLEGAL_GENERATION with the one that it has."""
    group = Group(components)
    group.brokers.script = fates_of(api, code)
    member = group.member(**strategy, **FAST).subscribe().polls()
    group.until(lambda: len(group.brokers.requests(Api.JOIN_GROUP)) > 2, 60_000)
    joins = [seen.body.member_id for seen in group.brokers.requests(Api.JOIN_GROUP)]
    assert joins[2] == (joins[1] if code == ILLEGAL_GENERATION else ""), f"joined as {joins[:3]}"
    group.until(lambda: group.is_settled and member.owned == ALL, 60_000)
    assert member.errors == []


@consumer_property(
    "CSM-GRP-07",
    code=st.sampled_from([UNKNOWN_MEMBER, ILLEGAL_GENERATION]),
    late_ms=st.integers(600, 1_500),
)
@example(code=UNKNOWN_MEMBER, late_ms=1_000)
def an_error_about_an_old_generation_does_not_count(components: Components, code: int, late_ms: int) -> None:
    """An answer about a generation that the member no longer has says nothing about the present one."""
    group = Group(components)
    member = group.joined(**EAGER, **FAST)
    member.trace.clear()
    beats = len(group.brokers.requests(Api.HEARTBEAT))
    held: list[Seen] = []

    def script(seen: Seen) -> Disposition:
        if seen.api is Api.HEARTBEAT and not held:
            held.append(seen)
            return code
        return None

    group.brokers.script = script
    group.proxy().down.delay("property", late_ms * 1_000_000)
    group.until(lambda: len(group.brokers.requests(Api.HEARTBEAT)) > beats, 5_000)
    old = member.coordinator.generation
    member.coordinator.generation = old._replace(id=old.id + 1)  # as if a rebalance had ended since
    group.run(late_ms + 50)
    resets = [
        each for each in member.kinds(StateChanged) if (each.machine, each.cause) == ("member", "reset")
    ]
    assert held and resets == [], f"an error about generation {old.id} ended generation {old.id + 1}"


@consumer_property("CSM-GRP-10", closes=st.booleans(), others=st.integers(0, 1))
@example(closes=True, others=1)
def a_static_member_stays_in_the_group(components: Components, closes: bool, others: int) -> None:
    """A static member leaves without a word, and gets its partitions back without a rebalance when it returns."""
    group = Group(components)
    static = group.joined(**EAGER, **FAST, group_instance_id="i")
    for _ in range(others):
        group.joined(**EAGER, **FAST)
    owned, generation = static.owned, static.coordinator.generation.id
    if closes:
        static.do(static.core.close())
    else:
        static.kill()
    again = group.member(**EAGER, **FAST, group_instance_id="i").subscribe().polls()
    group.until(lambda: group.is_settled and bool(again.owned), 30_000)
    assert group.brokers.requests(Api.LEAVE_GROUP) == [], "a static member has left"
    assert (again.owned, again.coordinator.generation.id) == (owned, generation), "there was a rebalance"


@consumer_property("CSM-GRP-10", others=st.integers(0, 1))
def a_second_member_of_its_name_ends_the_first(components: Components, others: int) -> None:
    """A static member whose name another one takes gets a fatal error, and does not come back by itself."""
    group = Group(components)
    first = group.joined(**EAGER, **FAST, group_instance_id="i")
    for _ in range(others):
        group.joined(**EAGER, **FAST)
    second = group.member(**EAGER, **FAST, group_instance_id="i").subscribe().polls()
    group.until(lambda: bool(first.errors), 30_000)
    assert isinstance(first.errors[0], FencedInstanceIdError), f"{first.errors[0]!r}"
    first.kill()
    group.until(lambda: group.is_settled and bool(second.owned), 60_000)
