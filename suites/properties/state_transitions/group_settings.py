"""What a consumer's settings do in a group: its id, session timeouts, long fetches, and topics that do not exist."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from clients.reference.consumer.components import Components
from clients.reference.consumer.errors import ResponseError
from clients.reference.consumer.subscription.positions import OffsetAndMetadata
from clients.reference.errors import InvalidGroupIdError
from harness.wire.apis import Api
from suites.properties.group_simulation import Group
from suites.properties.property import consumer_property, example

A = ("t", 0)
LOW_MS, HIGH_MS = 6_000, 1_800_000
#: Calls that need a group.
OF_A_GROUP: dict[str, Callable[[Any], Any]] = {
    "subscribe": lambda core: core.subscribe(["t"]),
    "commit_sync": lambda core: core.commit_sync({A: OffsetAndMetadata(1, "", None)}),
    "committed": lambda core: core.committed([A]),
}


@consumer_property("CLI-CFG-05", name=st.sampled_from(sorted(OF_A_GROUP)))
@example(name="subscribe")
def calls_of_a_group_need_its_id(components: Components, name: str) -> None:
    """Without a group.id nothing is subscribed, committed or asked of a coordinator. Assigned partitions are read."""
    group = Group(components)
    group.fill(0, b"v")
    member = group.member(group_id=None)
    try:
        member.do(OF_A_GROUP[name](member.core))
    except InvalidGroupIdError:
        pass
    else:
        raise AssertionError(f"{name} is accepted without a group.id")
    member.do(member.core.assign([A]))
    member.polls()
    group.until(lambda: member.records == [(0, 0)], 30_000)
    assert not group.brokers.requests(Api.FIND_COORDINATOR)


@consumer_property("CLI-CFG-04", session_ms=st.sampled_from([LOW_MS - 1, LOW_MS, HIGH_MS, HIGH_MS + 1]))
@example(session_ms=LOW_MS - 1)
@example(session_ms=LOW_MS)
def a_session_timeout_that_the_broker_refuses_is_an_error(components: Components, session_ms: int) -> None:
    """poll() raises if the broker refuses the session timeout, and does not join again and again."""
    group = Group(components)
    member = (
        group.member(session_timeout_ms=session_ms, heartbeat_interval_ms=session_ms // 3).subscribe().polls()
    )
    group.until(lambda: bool(member.errors) or group.is_settled, 30_000)
    if LOW_MS <= session_ms <= HIGH_MS:
        assert group.is_settled and not member.errors, f"{session_ms} ms: {member.errors}"
        return
    named = [error.error.name for error in member.errors if isinstance(error, ResponseError)]
    assert set(named) == {"INVALID_SESSION_TIMEOUT"}, f"{session_ms} ms: {member.errors}"
    joins = len(group.brokers.requests(Api.JOIN_GROUP))
    assert joins == len(named), f"{joins} requests for {len(named)} errors"


@consumer_property("NET-CON-16", wait_ms=st.sampled_from([3_000, 20_000]))
@example(wait_ms=20_000)
def a_long_fetch_delays_no_heartbeat(components: Components, wait_ms: int) -> None:
    """While a Fetch waits for records, heartbeats to the same broker keep their interval, and the member stays."""
    group = Group(components)
    member = group.joined(fetch_max_wait_ms=wait_ms, session_timeout_ms=LOW_MS, heartbeat_interval_ms=1_000)
    joined_ms, told = group.now_ms, list(member.told)
    group.run(3 * wait_ms)
    beats = [seen.at_ms for seen in group.brokers.requests(Api.HEARTBEAT) if seen.at_ms >= joined_ms]
    gaps = [later - before for before, later in pairwise([joined_ms, *beats, group.now_ms])]
    assert max(gaps) <= 1_500, f"no heartbeat for {max(gaps)} ms"
    assert member.told == told, f"{member.told}"


@consumer_property("MET-15", allowed=st.booleans(), creates=st.booleans())
@example(allowed=False, creates=True)
def topics_are_created_as_allowed(components: Components, allowed: bool, creates: bool) -> None:
    """A topic that a consumer reads is created if both allow.auto.create.topics and the broker allow it."""
    group = Group(components)
    group.cluster.settings.auto_create_topics_enable = creates
    member = group.member(allow_auto_create_topics=allowed, metadata_max_age_ms=500)
    member.do(member.core.subscribe(["new"], member.listener))
    member.polls()
    group.run(3_000)
    assert group.cluster.has_topic("new") is (allowed and creates)
