"""The three ways to subscribe, and the calls that need an assigned partition."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from clients.reference.consumer.components import Components
from clients.reference.errors import IllegalStateError, InvalidGroupIdError
from suites.properties.group_member import Member
from suites.properties.group_simulation import Group
from suites.properties.property import consumer_property, example

A, B = ("t", 0), ("t", 1)
WAYS: dict[str, Callable[[Member], Any]] = {
    "topics": lambda member: member.do(member.core.subscribe(["t"])),
    "pattern": lambda member: member.core.subscribe_pattern(re.compile("t.*")),
    "partitions": lambda member: member.do(member.core.assign([A])),
}
ENDS: dict[str, Callable[[Member], Any]] = {
    "unsubscribe": lambda member: member.do(member.core.unsubscribe()),
    "no topics": lambda member: member.do(member.core.subscribe([])),
    "no partitions": lambda member: member.do(member.core.assign([])),
}
CALLS: dict[str, Callable[[Member, Any], Any]] = {
    "seek": lambda member, at: member.core.seek(at, 1),
    "seek to the beginning": lambda member, at: member.core.seek_to_beginning([at]),
    "seek to the end": lambda member, at: member.core.seek_to_end([at]),
    "position": lambda member, at: member.do(member.core.position(at, 1_000)),
    "pause": lambda member, at: member.core.pause([at]),
    "resume": lambda member, at: member.core.resume([at]),
    "lag": lambda member, at: member.do(member.core.current_lag(at)),
}


def refused(call: Callable[[], Any], error: type[Exception] = IllegalStateError) -> bool:
    """Return whether a call raises this error."""
    try:
        call()
    except error:
        return True
    return False


@consumer_property("CSM-API-01", steps=st.lists(st.sampled_from([*WAYS, *ENDS]), max_size=6))
@example(steps=["topics", "partitions"])
@example(steps=["partitions", "pattern", "no partitions", "pattern"])
def a_consumer_is_subscribed_in_one_way(components: Components, steps: list[str]) -> None:
    """Another kind of subscription is refused and changes nothing, until the consumer has unsubscribed."""
    member = Group(components).member()
    kind = None
    for step in steps:
        before = member.core.assignment, member.core.subscription
        if step in ENDS:
            ENDS[step](member)
            kind = None
            assert (member.core.assignment, member.core.subscription) == (set(), frozenset())
        elif kind in (None, step):
            WAYS[step](member)
            kind = step
        else:
            assert refused(lambda step=step: WAYS[step](member)), f"{step} was accepted beside {kind}"  # type: ignore[misc]
            assert (member.core.assignment, member.core.subscription) == before
        assert (member.core.assignment == {A}) == (kind == "partitions")


@consumer_property("CSM-API-01", "CSM-API-02", way=st.sampled_from(["topics", "pattern", "nothing"]))
def only_a_group_assigns_partitions_for_a_subscription(components: Components, way: str) -> None:
    """Without a group.id there is no subscription, and without a subscription or partitions there is no poll."""
    member = Group(components).member(group_id=None, enable_auto_commit=False)
    if way != "nothing":
        assert refused(lambda: WAYS[way](member), InvalidGroupIdError)
    assert refused(lambda: member.do(member.core.poll(100))), "poll() was accepted without anything to read"


@consumer_property("CSM-API-06", call=st.sampled_from(sorted(CALLS)), is_assigned=st.booleans())
def a_call_about_a_partition_needs_its_assignment(
    components: Components, call: str, is_assigned: bool
) -> None:
    """seek, position, pause and resume of a partition that is not assigned are refused."""
    group = Group(components)
    member = group.member()
    member.do(member.core.assign([A]))
    assert refused(lambda: CALLS[call](member, A if is_assigned else B)) is not is_assigned


@consumer_property("CSM-API-06", offset=st.integers(-(2**31), 2**31))
@example(offset=-1)
def a_negative_offset_is_refused(components: Components, offset: int) -> None:
    """seek() takes an offset from 0 on without asking a broker, and refuses a negative one."""
    group = Group(components)
    member = group.member()
    member.do(member.core.assign([A]))
    sent = len(group.brokers.seen)
    assert refused(lambda: member.core.seek(A, offset)) is (offset < 0)
    assert len(group.brokers.seen) == sent
    if offset >= 0:
        assert member.do(member.core.position(A, 0)) == offset
