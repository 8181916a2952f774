"""Membership: lookup, join, sync, heartbeats, rebalances and leaving, against the scripted group coordinator."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.consumer.errors import ConsumerError, FencedInstanceIdError
from clients.reference.ports import INT32_MAX
from clients.reference.telemetry.trace import CoordinatorLost
from harness.wire.apis import Api

ALL = [0, 1, 2, 3]
EAGER = {"partition_assignment_strategy": "range"}
COOPERATIVE = {"partition_assignment_strategy": "cooperative-sticky"}
FAST = {"session_timeout_ms": 6_000, "heartbeat_interval_ms": 1_000}


def errors_at(api, *codes):
    """Return a script that answers the next requests of an API with these error codes."""
    left = list(codes)
    return lambda seen: left.pop(0) if seen.api is api and left else None


def test_the_first_join_gets_an_id_and_the_second_one_has_it(group):
    """CSM-GRP-02."""
    g = group()
    a = g.joined()
    first, second = g.brokers.requests(Api.JOIN_GROUP)
    assert first.body.member_id == "" and second.body.member_id != ""
    assert a.told == [("assigned", ALL)] and a.owned == ALL
    assert a.states() == ["PREPARING_REBALANCE", "PREPARING_REBALANCE", "COMPLETING_REBALANCE", "STABLE"]


def test_the_coordinator_has_its_own_connection(group):
    g = group()
    a = g.joined()
    nodes = {
        event.node
        for event in a.trace
        if getattr(event, "api", "") in ("JoinGroup", "SyncGroup", "Heartbeat")
    }
    assert nodes == {INT32_MAX - 1}


@pytest.mark.parametrize("strategy", [EAGER, COOPERATIVE])
def test_only_the_leader_assigns(group, strategy):
    """CSM-GRP-04."""
    g = group()
    a, b = g.joined(**strategy, **FAST), g.joined(**strategy, **FAST)
    assert sorted(a.owned + b.owned) == ALL
    last = {}
    for seen in g.brokers.requests(Api.SYNC_GROUP):
        last.setdefault(seen.body.generation_id, []).append(len(seen.body.assignments))
    assert all(sorted(counts)[:-1] == [0] * (len(counts) - 1) and max(counts) > 0 for counts in last.values())


def test_under_eager_everything_is_revoked_before_the_join(group):
    """CSM-GRP-11."""
    g = group()
    a = g.joined(**EAGER, **FAST)
    g.joined(**EAGER, **FAST)
    assert a.told == [("assigned", ALL), ("revoked", ALL), ("assigned", a.owned)]


def test_under_cooperative_only_what_moves_is_revoked_and_a_second_rebalance_follows(group):
    """CSM-GRP-11."""
    g = group()
    a = g.joined(**COOPERATIVE, **FAST)
    b = g.joined(**COOPERATIVE, **FAST)
    revoked = [partitions for what, partitions in a.told if what == "revoked"]
    assert revoked == [b.owned] and len(a.owned) == 2
    assert [each for each in b.told if each[0] == "assigned"] == [("assigned", []), ("assigned", b.owned)]
    assert {what for what, _ in a.told} == {"assigned", "revoked"}


def test_heartbeats_do_not_depend_on_the_application(group):
    """CSM-GRP-05: nothing is polled for 50 seconds, five times the session timeout."""
    g = group()
    a = g.joined(session_timeout_ms=10_000, heartbeat_interval_ms=3_000)
    a.loop = lambda: None
    before = len(g.brokers.requests(Api.HEARTBEAT))
    g.run(50_000)
    times = [seen.at_ms for seen in g.brokers.requests(Api.HEARTBEAT)[before:]]
    assert 15 <= len(times) <= 18
    assert all(2_900 <= later - earlier <= 3_200 for earlier, later in pairwise(times))
    a.polls()
    g.run(5_000)
    assert a.told == [("assigned", ALL)]


def test_no_heartbeat_before_the_join_is_answered(group):
    """CSM-GRP-05: Heartbeats begin while the member waits for SyncGroup, not earlier."""
    g = group()
    g.brokers.script = lambda seen: "hold" if seen.api is Api.SYNC_GROUP else None
    g.member(**FAST).subscribe().polls()
    g.run(20_000)
    joined = g.brokers.requests(Api.SYNC_GROUP)[0].at_ms
    beats = [seen.at_ms for seen in g.brokers.requests(Api.HEARTBEAT)]
    assert beats and beats[0] >= joined


@pytest.mark.parametrize("api", [Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT])
@pytest.mark.parametrize("code", [15, 16])
def test_an_error_of_the_coordinator_makes_the_member_look_it_up_again(group, api, code):
    """CSM-GRP-01."""
    g = group()
    g.brokers.script = errors_at(api, code)
    a = g.member(**FAST).subscribe().polls()
    g.run(20_000)
    assert g.is_settled and a.owned == ALL
    assert 2 <= len(g.brokers.requests(Api.FIND_COORDINATOR)) <= 3
    assert a.kinds(CoordinatorLost) and a.errors == []


def test_a_coordinator_that_moves_is_found(group):
    """CSM-GRP-01."""
    g = group(nodes=3)
    a = g.joined(**FAST)
    g.cluster.move_coordinators()
    g.run(30_000)
    assert g.is_settled and a.owned == ALL and a.errors == []


def test_a_lookup_that_fails_is_repeated_after_a_backoff(group):
    g = group()
    g.brokers.script = errors_at(Api.FIND_COORDINATOR, 15, 15, 15)
    a = g.joined()
    times = [seen.at_ms for seen in g.brokers.requests(Api.FIND_COORDINATOR)]
    assert len(times) == 4 and all(b - a >= 100 for a, b in pairwise(times))
    assert a.owned == ALL


def test_a_coordinator_that_loads_is_asked_again_and_not_looked_up(group):
    """CSM-GRP-01."""
    g = group()
    g.brokers.script = errors_at(Api.JOIN_GROUP, 14, 14)
    g.joined()
    assert len(g.brokers.requests(Api.FIND_COORDINATOR)) == 1
    assert len(g.brokers.requests(Api.JOIN_GROUP)) == 4


@pytest.mark.parametrize("api", [Api.HEARTBEAT, Api.SYNC_GROUP])
@pytest.mark.parametrize(("code", "keeps"), [(25, False), (22, True)])
def test_the_member_id_is_kept_only_if_the_coordinator_still_knows_it(group, api, code, keeps):
    """CSM-GRP-07."""
    g = group()
    g.brokers.script = errors_at(api, code)
    a = g.member(**FAST).subscribe().polls()
    g.run(60_000)
    assert g.is_settled and a.owned == ALL
    joins = [seen.body.member_id for seen in g.brokers.requests(Api.JOIN_GROUP)]
    assert joins[2] == (joins[1] if keeps else "")


def test_after_a_lost_generation_partitions_are_lost_and_not_revoked(group):
    """CSM-GRP-12: frozen for longer than the session timeout, while another member takes over."""
    g = group()
    a = g.joined(**FAST, enable_auto_commit=True)
    a.is_frozen = True
    b = g.joined(**FAST)
    g.until(lambda: b.owned == ALL)
    a.is_frozen = False
    g.run(20_000)
    assert ("lost", ALL) in a.told and ("revoked", ALL) not in a.told
    assert sorted(a.owned + b.owned) == ALL


def test_a_member_that_does_not_poll_leaves_and_comes_back(group):
    """CSM-GRP-09."""
    g = group()
    a = g.joined(**FAST, max_poll_interval_ms=7_000)
    a.loop = lambda: None
    g.run(10_000)
    [left] = g.brokers.requests(Api.LEAVE_GROUP)
    assert 6_000 <= left.at_ms - 1_000 <= 10_000
    beats = len(g.brokers.requests(Api.HEARTBEAT))
    g.run(10_000)
    assert len(g.brokers.requests(Api.HEARTBEAT)) == beats
    a.polls()
    g.run(10_000)
    assert a.told[-2:] == [("lost", ALL), ("assigned", ALL)]


def test_a_static_member_that_does_not_poll_only_stops_its_heartbeats(group):
    """CSM-GRP-09, CSM-GRP-10."""
    g = group()
    a = g.joined(**FAST, max_poll_interval_ms=7_000, group_instance_id="i")
    a.loop = lambda: None
    g.run(30_000)
    assert g.brokers.requests(Api.LEAVE_GROUP) == []


def test_a_static_member_gets_its_partitions_back_without_a_rebalance(group):
    """CSM-GRP-10."""
    g = group()
    a, b = g.joined(**FAST, group_instance_id="a"), g.joined(**FAST, group_instance_id="b")
    owned, generation = a.owned, g.cluster.group("g").generation_id
    a.do(a.core.close())
    again = g.joined(**FAST, group_instance_id="a")
    assert again.owned == owned and g.cluster.group("g").generation_id == generation
    assert g.brokers.requests(Api.LEAVE_GROUP) == []
    assert b.told == [("assigned", b.owned)]


def test_a_second_member_with_the_same_instance_id_fences_the_first(group):
    """CSM-GRP-10."""
    g = group()
    a = g.joined(**FAST, group_instance_id="a")
    b = g.member(**FAST, group_instance_id="a").subscribe().polls()
    g.until(lambda: bool(a.errors) and b.owned == ALL)
    assert isinstance(a.errors[0], FencedInstanceIdError)


def test_without_heartbeat_responses_for_the_session_timeout_the_coordinator_is_looked_up(group):
    """CSM-GRP-08."""
    g = group()
    a = g.joined(**FAST)
    g.brokers.script = lambda seen: "hold" if seen.api is Api.HEARTBEAT else None
    before = len(g.brokers.requests(Api.FIND_COORDINATOR))
    since = g.now_ms
    g.until(lambda: len(g.brokers.requests(Api.FIND_COORDINATOR)) > before, 20_000)
    assert 5_000 <= g.now_ms - since <= 8_000
    assert a.kinds(CoordinatorLost)


def test_join_may_take_longer_than_the_request_timeout(group):
    """CSM-GRP-03: the other member polls late, and no connection ends meanwhile."""
    g = group()
    a = g.joined(**EAGER, session_timeout_ms=60_000, request_timeout_ms=5_000, max_poll_interval_ms=60_000)
    a.loop = lambda: None
    b = g.member(**EAGER, session_timeout_ms=60_000, request_timeout_ms=5_000, max_poll_interval_ms=60_000)
    b.subscribe().polls()
    g.run(30_000)
    assert b.owned == [] and not b.kinds(CoordinatorLost)
    a.polls()
    g.until(lambda: g.is_settled, 20_000)
    assert sorted(a.owned + b.owned) == ALL


@pytest.mark.parametrize("method", ["assigned", "revoked"])
def test_an_exception_of_the_listener_is_raised_from_poll_after_the_rest_was_done(group, method):
    """CSM-GRP-13."""
    g = group()
    a = g.member(**EAGER, **FAST).subscribe()
    a.listener.raises[method] = ValueError("boom")
    a.polls()
    g.run(10_000)
    g.joined(**EAGER, **FAST)
    [error] = a.errors
    assert isinstance(error, ConsumerError) and isinstance(error.__cause__, ValueError)
    assert len(a.owned) == 2 and g.is_settled


def test_a_changed_subscription_makes_the_member_join_again(group):
    g = group()
    g.cluster.create_topic("u", 2)
    a = g.joined(**FAST)
    a.subscribe("t", "u")
    g.until(lambda: len(a.owned) == 6, 30_000)
    a.do(a.core.unsubscribe())
    g.run(100)
    assert a.owned == [] and len(g.brokers.requests(Api.LEAVE_GROUP)) == 1


def test_new_partitions_and_topics_of_a_pattern_make_the_member_join_again(group):
    g = group()
    a = g.member(**FAST, metadata_max_age_ms=2_000)
    a.core.subscribe_pattern(re.compile("t.*"), a.listener)
    a.polls()
    g.until(lambda: a.owned == ALL, 20_000)
    g.cluster.create_topic("tt", 2)
    g.cluster.create_topic("x", 2)
    g.until(lambda: len(a.owned) == 6, 20_000)
    assert a.core.subscription == {"t", "tt"}


def test_wakeup_during_a_rebalance_leaves_the_join_for_the_next_poll(group):
    """CSM-WKP-02."""
    g = group()
    g.brokers.script = lambda seen: "late" if seen.api is Api.JOIN_GROUP else None
    a = g.member(**FAST).subscribe().polls(timeout_ms=30_000)
    g.until(lambda: bool(g.brokers.requests(Api.JOIN_GROUP)))
    a.core.wakeup()
    g.until(lambda: a.owned == ALL, 60_000)
    assert [error.name for error in a.errors] == ["WakeupException"]
    assert len(g.brokers.requests(Api.JOIN_GROUP)) == 2


@pytest.mark.parametrize("strategy", [EAGER, COOPERATIVE])
@given(data=st.data())
def test_whatever_members_do_each_partition_has_one_owner_when_they_have_settled(group, strategy, data):
    """CSM-GRP-14: joins, closes, deaths and freezes in any order."""
    g = group(partitions=5)
    for _ in range(data.draw(st.integers(1, 5))):
        alive = [each for each in g.members if each.is_running]
        action = data.draw(st.sampled_from(["join", "join", "close", "kill", "freeze", "wait"]))
        if action == "join" or not alive:
            g.member(**strategy, **FAST).subscribe().polls()
        elif action == "close":
            alive[0].do(alive[0].core.close())
        elif action == "kill":
            alive[-1].kill()
        elif action == "freeze":
            alive[0].is_frozen = True
            g.run(data.draw(st.integers(0, 9_000)))
            alive[0].is_frozen = False
        g.run(data.draw(st.integers(0, 8_000)))
    if not [each for each in g.members if each.is_running]:
        g.member(**strategy, **FAST).subscribe().polls()
    g.run(40_000)
    assert g.is_settled
    alive = [each for each in g.members if each.is_running]
    assert sorted(index for each in alive for index in each.owned) == [0, 1, 2, 3, 4]
    assert all(each.errors == [] for each in alive)
