"""The clocks of a member of a classic group: heartbeats, the session, the poll interval, and the join."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import strategies as st

from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.calls import Clock
from clients.reference.consumer.components import Components
from clients.reference.telemetry.trace import CoordinatorLost
from harness.wire.apis import Api
from suites.properties.group_simulation import Group
from suites.properties.property import consumer_property, example
from suites.properties.scripted_brokers import Disposition, Seen
from suites.properties.state_transitions.group_members import ALL, EAGER, fates_of

#: What a trip to a broker and back may add, and what a round may be late.
TRIP_MS = 20
HEARTBEAT_MS = st.integers(200, 3_000)


def _settings(heartbeat_ms: int, **more: object) -> dict[str, object]:
    return {
        **EAGER,
        "heartbeat_interval_ms": heartbeat_ms,
        "session_timeout_ms": 6_000,
        "enable_auto_commit": False,
        **more,
    }


@consumer_property("CSM-GRP-05", heartbeat_ms=HEARTBEAT_MS, polls=st.booleans())
@example(heartbeat_ms=1_000, polls=False)
def heartbeats_keep_their_interval(components: Components, heartbeat_ms: int, polls: bool) -> None:
    """A member sends a heartbeat each heartbeat.interval.ms, whether its application polls or works."""
    group = Group(components)
    member = group.joined(**_settings(heartbeat_ms))
    if not polls:
        member.loop = lambda: None
    group.run(heartbeat_ms + 1_000)
    begun_ms = group.now_ms
    group.run(max(10_000, 5 * heartbeat_ms))
    times = [seen.at_ms for seen in group.brokers.requests(Api.HEARTBEAT) if seen.at_ms >= begun_ms]
    assert times and group.now_ms - times[-1] <= heartbeat_ms + TRIP_MS, "no heartbeat"
    for earlier, later in pairwise(times):
        assert heartbeat_ms <= later - earlier + 1 and later - earlier <= heartbeat_ms + TRIP_MS
    assert member.told == [("assigned", ALL)]


@consumer_property("CSM-GRP-05", heartbeat_ms=HEARTBEAT_MS)
def heartbeats_begin_with_the_join(components: Components, heartbeat_ms: int) -> None:
    """A member sends heartbeats while it waits for its assignment, and none before its join was answered."""
    group = Group(components)
    group.brokers.script = lambda seen: "hold" if seen.api is Api.SYNC_GROUP else None
    group.member(**_settings(heartbeat_ms)).subscribe().polls()
    group.until(lambda: bool(group.brokers.requests(Api.SYNC_GROUP)), 10_000)
    joined_ms = group.now_ms
    group.run(2 * heartbeat_ms + TRIP_MS)
    beats = [seen.at_ms for seen in group.brokers.requests(Api.HEARTBEAT)]
    assert beats, "no heartbeat while the member waits for SyncGroup"
    assert joined_ms + heartbeat_ms - TRIP_MS <= beats[0] <= joined_ms + heartbeat_ms + TRIP_MS


@consumer_property("CSM-GRP-05", ends=st.sampled_from(["close", "unsubscribe"]))
def no_heartbeat_follows_the_end(components: Components, ends: str) -> None:
    """A member that left sends no heartbeat."""
    group = Group(components)
    member = group.joined(**_settings(500))
    member.loop = lambda: None
    member.do(member.core.close() if ends == "close" else member.core.unsubscribe())
    group.run(20_000)
    apis = [seen.api for seen in group.brokers.seen]
    assert Api.HEARTBEAT not in apis[apis.index(Api.LEAVE_GROUP) :]


@consumer_property("CSM-GRP-08", session_ms=st.integers(6_000, 20_000), heartbeat_ms=HEARTBEAT_MS)
@example(session_ms=6_000, heartbeat_ms=1_000)
def a_silent_coordinator_is_looked_up_after_the_session(
    components: Components, session_ms: int, heartbeat_ms: int
) -> None:
    """Without an answer to a heartbeat for session.timeout.ms, the member looks for its coordinator, and not before."""
    group = Group(components)
    settings = _settings(heartbeat_ms, session_timeout_ms=session_ms, request_timeout_ms=120_000)
    member = group.joined(**settings)
    group.run(3_000)
    last_ms = group.brokers.requests(Api.HEARTBEAT)[-1].at_ms
    group.brokers.script = lambda seen: "hold" if seen.api is Api.HEARTBEAT else None
    looked_up = len(group.brokers.requests(Api.FIND_COORDINATOR))
    group.run_until(
        lambda: len(group.brokers.requests(Api.FIND_COORDINATOR)) > looked_up,
        session_ms + heartbeat_ms + 1_000,
    )
    assert member.kinds(CoordinatorLost), "the coordinator is never looked up"
    lost_ms = member.kinds(CoordinatorLost)[0].at_ms
    assert session_ms - TRIP_MS <= lost_ms - last_ms <= session_ms + heartbeat_ms + TRIP_MS


@consumer_property("CSM-GRP-08", "CSM-GRP-06", heartbeat_ms=st.integers(200, 2_000))
def any_answer_to_a_heartbeat_keeps_the_session(components: Components, heartbeat_ms: int) -> None:
    """A heartbeat that is answered with a rebalance is contact with the coordinator: the session goes on."""
    clock = Clock(0)
    config = ConsumerConfig.from_mapping(
        {
            "bootstrap.servers": "broker:9092",
            "group.id": "g",
            "heartbeat.interval.ms": heartbeat_ms,
            "session.timeout.ms": 6_000,
        }
    )
    heartbeat = components.coordinator.heartbeat_clock(config, clock, lambda: 0.0)
    for _ in range(10):
        clock.now_ms = heartbeat.due_ms
        assert heartbeat.is_due and not heartbeat.session_expired
        heartbeat.sent()
        heartbeat.received()
    assert heartbeat.session_ends_ms == clock.now_ms + 6_000
    assert heartbeat.due_ms == clock.now_ms + heartbeat_ms


@consumer_property(
    "CSM-GRP-09",
    "CSM-GRP-10",
    poll_ms=st.integers(6_500, 15_000),
    is_static=st.booleans(),
    late_ms=st.integers(1_000, 10_000),
)
@example(poll_ms=7_000, is_static=False, late_ms=3_000)
@example(poll_ms=7_000, is_static=True, late_ms=3_000)
def a_member_that_is_not_polled_leaves(
    components: Components, poll_ms: int, is_static: bool, late_ms: int
) -> None:
    """Without a poll for max.poll.interval.ms, a dynamic member leaves, a static one falls silent, and both return."""
    group = Group(components)
    own = {"group_instance_id": "i"} if is_static else {}
    member = group.joined(**_settings(1_000, max_poll_interval_ms=poll_ms), **own)
    member.loop = lambda: None
    group.until(lambda: member._call is None, 5_000)
    idle_ms = group.now_ms
    group.run(poll_ms + 1_500)
    left = group.brokers.requests(Api.LEAVE_GROUP)
    assert bool(left) is not is_static, f"LeaveGroup was sent {len(left)} times"
    beats = group.brokers.requests(Api.HEARTBEAT)
    assert beats[-1].at_ms <= idle_ms + poll_ms + TRIP_MS, "heartbeats go on without polls"
    assert beats[-1].at_ms >= idle_ms + poll_ms - 2_500, "heartbeats ended too early"
    if left:
        assert idle_ms + poll_ms - 1_100 <= left[0].at_ms <= idle_ms + poll_ms + TRIP_MS
    group.run(late_ms)
    member.polls()
    group.until(lambda: group.is_settled and member.owned == ALL, 60_000)
    assert member.told[:2] == [("assigned", ALL), ("lost", ALL)] and member.errors == []


@consumer_property(
    "CSM-GRP-03",
    request_ms=st.integers(1_000, 6_000),
    wait_ms=st.integers(0, 15_000),
)
@example(request_ms=1_000, wait_ms=10_000)
def a_join_may_take_as_long_as_a_rebalance(components: Components, request_ms: int, wait_ms: int) -> None:
    """A JoinGroup that waits for other members outlives request.timeout.ms, on the same connection."""
    group = Group(components)
    settings = _settings(
        1_000, session_timeout_ms=30_000, request_timeout_ms=request_ms, max_poll_interval_ms=30_000
    )
    first = group.joined(**settings)
    first.loop = lambda: None
    second = group.member(**settings).subscribe().polls()
    group.run(3_000 + wait_ms)
    assert second.owned == [] and not second.kinds(CoordinatorLost), "the join was given up"
    first.polls()
    group.until(lambda: group.is_settled and bool(second.owned), 30_000)
    assert not second.kinds(CoordinatorLost)


@consumer_property("CSM-GRP-03", poll_ms=st.integers(6_500, 20_000), request_ms=st.integers(1_000, 40_000))
@example(poll_ms=7_000, request_ms=1_000)
def a_join_without_an_answer_has_an_end(components: Components, poll_ms: int, request_ms: int) -> None:
    """A JoinGroup without an answer is given up after the longest possible rebalance and five seconds more."""
    group = Group(components)

    def script(seen: Seen) -> Disposition:
        return "hold" if seen.api is Api.JOIN_GROUP and seen.body.member_id else None

    group.brokers.script = script
    settings = _settings(1_000, request_timeout_ms=request_ms, max_poll_interval_ms=poll_ms)
    member = group.member(**settings).subscribe().polls()
    group.until(lambda: len(group.brokers.requests(Api.JOIN_GROUP)) == 2, 10_000)
    joined_ms = group.now_ms
    limit_ms = max(request_ms, poll_ms + 5_000)
    group.run_until(lambda: bool(member.kinds(CoordinatorLost)), limit_ms + 1_000)
    assert member.kinds(CoordinatorLost), "the join is never given up"
    assert limit_ms - TRIP_MS <= member.kinds(CoordinatorLost)[0].at_ms - joined_ms <= limit_ms + TRIP_MS


@consumer_property("CSM-GRP-01", codes=st.lists(st.sampled_from([14, 15]), min_size=1, max_size=4))
@example(codes=[15, 15])
def lookups_that_fail_wait_longer_each_time(components: Components, codes: list[int]) -> None:
    """A lookup of the coordinator that fails is repeated, after a backoff that grows."""
    group = Group(components)
    group.brokers.script = fates_of(Api.FIND_COORDINATOR, *codes)
    group.member(**_settings(1_000)).subscribe().polls()
    group.until(lambda: group.is_settled, 30_000)
    times = [seen.at_ms for seen in group.brokers.requests(Api.FIND_COORDINATOR)]
    assert len(times) == len(codes) + 1
    for number, (earlier, later) in enumerate(pairwise(times)):
        due_ms = min(100 * 2**number, 1_000)
        assert due_ms <= later - earlier + 1 and later - earlier <= due_ms + 1_100, (
            f"lookup {number + 2} came after {later - earlier} ms"
        )
