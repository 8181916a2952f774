"""Rebalances as an application sees them, and the coordinator that each of the group's requests has to follow."""

from __future__ import annotations

from hypothesis import strategies as st

from clients.reference.consumer.components import Components
from clients.reference.consumer.errors import ConsumerError, WakeupError
from clients.reference.consumer.subscription.positions import OffsetAndMetadata
from harness.wire.apis import Api
from suites.properties.group_simulation import Group
from suites.properties.property import consumer_property, example
from suites.properties.state_transitions.group_members import ALL, COOPERATIVE, EAGER, FAST, fates_of

FOLLOWED = (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.OFFSET_COMMIT, Api.OFFSET_FETCH)


@consumer_property("CSM-GRP-01", api=st.sampled_from(FOLLOWED), code=st.sampled_from([15, 16]))
@example(api=Api.JOIN_GROUP, code=16)
@example(api=Api.SYNC_GROUP, code=16)
@example(api=Api.HEARTBEAT, code=16)
@example(api=Api.OFFSET_COMMIT, code=16)
@example(api=Api.OFFSET_FETCH, code=16)
def each_request_follows_the_coordinator(components: Components, api: Api, code: int) -> None:
    """Whatever request says that the coordinator has moved, it is looked up before that request is repeated."""
    group = Group(components)
    group.brokers.script = fates_of(api, code)
    member = group.member(**EAGER, **FAST).subscribe().polls(timeout_ms=500)
    if api is Api.OFFSET_COMMIT:
        group.until(lambda: group.is_settled, 10_000)
        member.do(member.core.commit_sync({("t", 0): OffsetAndMetadata(0)}, 8_000), 10_000)
    group.run_until(lambda: len(group.brokers.requests(api)) > 1 and group.is_settled, 8_000)
    seen = [each.api for each in group.brokers.seen]
    assert seen.count(api) > 1, f"{api.name} was not repeated"
    failed = seen.index(api, seen.index(api) + 1) if api is Api.JOIN_GROUP else seen.index(api)
    first = seen.index(api)
    assert Api.FIND_COORDINATOR in seen[first : failed + 40], "the coordinator was not looked up"
    lookup = seen.index(Api.FIND_COORDINATOR, first)
    assert api not in seen[first + 1 : lookup], f"{api.name} was repeated before the lookup"
    group.until(lambda: group.is_settled and member.owned == ALL, 30_000)
    assert member.errors == []


@consumer_property("CSM-GRP-11", cooperative=st.booleans())
@example(cooperative=True)
@example(cooperative=False)
def the_listener_hears_what_moves(components: Components, cooperative: bool) -> None:
    """Eager members give up all and get all. Cooperative ones give up what moves. All learn of each assignment."""
    group = Group(components)
    strategy = COOPERATIVE if cooperative else EAGER
    first = group.joined(**strategy, **FAST)
    second = group.joined(**strategy, **FAST)
    group.until(lambda: sorted(first.owned + second.owned) == ALL, 30_000)
    revoked = [partitions for what, partitions in first.told if what == "revoked"]
    assert revoked == [second.owned if cooperative else ALL], f"revoked {revoked}"
    told = [each for each in first.told if each[0] == "assigned"]
    assert told[0] == ("assigned", ALL)
    if cooperative:
        assert len(told) >= 2 and all(not partitions for _, partitions in told[1:]), f"told {told}"
        assert second.told[0] == ("assigned", []), f"told {second.told}"
    else:
        assert told[1:] == [("assigned", first.owned)], f"told {told}"
    assert {what for what, _ in first.told} == {"assigned", "revoked"}


@consumer_property(
    "CSM-GRP-12", strategy=st.sampled_from([EAGER, COOPERATIVE]), polls_ms=st.integers(7_500, 12_000)
)
@example(strategy=EAGER, polls_ms=8_000)
def what_others_may_own_is_lost(components: Components, strategy: dict[str, str], polls_ms: int) -> None:
    """A member that dropped out of its group reports its partitions as lost, and commits nothing for them."""
    group = Group(components)
    group.fill(0, b"x")
    member = group.joined(
        **strategy, **(FAST | {"enable_auto_commit": True, "auto_commit_interval_ms": 600_000})
    )
    group.until(lambda: len(member.records) == 1, 10_000)
    generation = member.coordinator.generation
    member.is_frozen = True
    group.run(polls_ms)
    member.is_frozen = False
    before = len(group.brokers.requests(Api.OFFSET_COMMIT))
    group.until(lambda: len(member.told) >= 3 and group.is_settled, 30_000)
    assert member.told[1] == ("lost", ALL), f"told {member.told}"
    stale = [
        seen
        for seen in group.brokers.requests(Api.OFFSET_COMMIT)[before:]
        if seen.body.member_id == generation.member_id
    ]
    assert not stale, "committed for partitions that were lost"


@consumer_property("CSM-GRP-13", method=st.sampled_from(["assigned", "revoked"]), own=st.booleans())
@example(method="assigned", own=False)
@example(method="revoked", own=True)
def an_error_of_the_listener_comes_out_of_poll(components: Components, method: str, own: bool) -> None:
    """An exception of the listener is raised by poll() once, and the rebalance is completed nevertheless."""
    group = Group(components)
    member = group.member(**EAGER, **FAST).subscribe()
    raised = ConsumerError("listener-failed", "no") if own else ValueError("no")
    member.listener.raises[method] = raised
    member.polls(timeout_ms=500)
    group.until(lambda: group.is_settled, 20_000)
    second = group.joined(**EAGER, **FAST)
    assert len(member.errors) == 1, f"poll() has raised {member.errors}"
    [error] = member.errors
    assert error is raised if own else error.__cause__ is raised
    assert sorted(member.owned + second.owned) == ALL and second.owned


@consumer_property("CSM-WKP-02", api=st.sampled_from([Api.JOIN_GROUP, Api.SYNC_GROUP]))
def a_wakeup_leaves_the_join_for_the_next_poll(components: Components, api: Api) -> None:
    """A wakeup during a rebalance interrupts the poll once, and the next one goes on with the same join."""
    group = Group(components)
    waits = [None, "late"] if api is Api.JOIN_GROUP else ["late"]
    group.brokers.script = fates_of(api, *waits)
    member = group.member(**EAGER, **FAST).subscribe().polls(timeout_ms=30_000)
    group.until(lambda: len(group.brokers.requests(api)) == len(waits), 10_000)
    member.core.wakeup()
    group.until(lambda: member.owned == ALL and group.is_settled, 60_000)
    assert [type(error) for error in member.errors] == [WakeupError]
    assert len(group.brokers.requests(Api.JOIN_GROUP)) == 2, "the member joined again"


@consumer_property("CSM-WKP-02", "CSM-CNC-07", records=st.integers(0, 2))
def close_is_not_interrupted(components: Components, records: int) -> None:
    """A wakeup does not keep close() from committing and leaving."""
    group = Group(components, partitions=1)
    if records:
        group.fill(0, *[b"x"] * records)
    member = group.joined(**EAGER, **(FAST | {"enable_auto_commit": True}))
    group.until(lambda: len(member.records) == records, 10_000)
    member.loop = lambda: None
    group.until(lambda: member._call is None, 5_000)
    member.core.wakeup()
    member.do(member.core.close())
    assert group.cluster.committed("g")["t", 0].offset == records
    assert group.brokers.requests(Api.LEAVE_GROUP), "the member has not left"
