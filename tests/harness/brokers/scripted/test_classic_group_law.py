"""The law of classic groups: whatever its members do, a group keeps to Kafka's states, and no request waits forever."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.brokers.scripted.groups.classic_group import ClassicState
from tests.harness.brokers.scripted.groups import MS, Member

#: Kafka's ClassicGroupState: to each state, the states that may precede it.
PRECEDING = {
    "Empty": {"PreparingRebalance"},
    "PreparingRebalance": {"Stable", "CompletingRebalance", "Empty"},
    "CompletingRebalance": {"PreparingRebalance"},
    "Stable": {"CompletingRebalance"},
}

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["join", "rejoin", "sync", "beat", "leave", "expel", "wait", "move"]),
        st.integers(0, 3),
        st.sampled_from([1, 900, 6_000, 31_000]),
    ),
    max_size=40,
)


@settings(max_examples=300)
@given(STEPS)
def test_any_life_of_a_group_keeps_to_its_states(client, steps):
    """Generations only grow, at most one member leads, nothing waits forever, and every move is one of Kafka's.

    A generation that was not stored is lost when the coordinator moves. A broker reads no further request of a member
    while one waits, so the members send none. An administrator expels members at any time, and a SyncGroup that waits
    is then never answered.
    """
    it = client(nodes=2)
    members = [Member(it, "static") if at == 3 else Member(it) for at in range(4)]
    calls = {}
    generation = 0
    for action, at, wait_ms in steps:
        member = members[at]
        member.node_id = it.cluster.coordinator("g")
        if action == "move":
            it.cluster.move_coordinators()
            stored = it.cluster.state.groups.log.get("g")
            generation = 0 if stored is None else stored.generation_id
        elif action == "wait":
            it.now_ns += wait_ms * MS
        elif action == "expel":
            was_waiting = (at, "sync") in calls and calls[at, "sync"].body is None
            if member.leave().members[0].error_code == 0 and was_waiting:
                assert calls.pop((at, "sync")).body is None
        elif any(who == at and call.body is None for (who, _), call in calls.items()):
            continue
        elif action in ("join", "rejoin"):
            calls[at, "join"] = member.enter() if action == "join" else member.join()
        elif action == "sync":
            calls[at, "sync"] = member.sync({each.member_id: b"a" for each in members})
        elif action == "beat":
            member.beat()
        else:
            member.leave()
        it.cluster.wake(it.now_ns)
        for (who, _), call in calls.items():
            if call.body is not None and getattr(call.body, "generation_id", -1) > 0:
                members[who].took(call)
        group = it.cluster.group("g")
        if group is None:
            continue
        assert group.generation_id >= generation
        generation = group.generation_id
        assert group.leader_id is None or group.leader_id in group.members
        assert set(group.static_members.values()) <= set(group.members)
        moves = [str(each) for each in group.moves]
        assert all(before in PRECEDING[after] for before, after in pairwise(moves))
    for _ in range(8):
        it.now_ns += 301_000 * MS
        it.cluster.wake(it.now_ns)
    assert all(call.body is not None for call in calls.values())
    group = it.cluster.group("g")
    assert group is None or group.state is ClassicState.EMPTY
