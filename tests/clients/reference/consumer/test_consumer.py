"""ConsumerCore: what its calls accept, what poll returns and when, and what a wakeup interrupts."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.consumer.errors import UnsupportedVersionError, WakeupError
from clients.reference.errors import IllegalStateError, InvalidGroupIdError
from harness.wire.apis import Api
from testkit.codes import raises_code

A, B = ("t", 0), ("t", 1)


def reading(group: Any, *values: bytes, **settings: Any) -> tuple[Any, Any]:
    """Return a world and a consumer that reads partition 0, which has ``values``."""
    g = group()
    if values:
        g.fill(0, *values)
    a = g.member(**settings)
    a.do(a.core.assign([A]))
    return g, a


# CSM-API-01


def _pattern(a: Any) -> None:
    a.core.subscribe_pattern(re.compile("t.*"))


WAYS = {
    "topics": lambda a: a.do(a.core.subscribe(["t"])),
    "pattern": _pattern,
    "partitions": lambda a: a.do(a.core.assign([A])),
}
ENDS = {
    "unsubscribe": lambda a: a.do(a.core.unsubscribe()),
    "no topics": lambda a: a.do(a.core.subscribe([])),
    "no partitions": lambda a: a.do(a.core.assign([])),
}


@given(st.lists(st.sampled_from([*WAYS, *ENDS]), max_size=6))
def test_one_kind_of_subscription_until_it_is_ended(group, steps):
    """CSM-API-01: a call that is refused changes nothing, and an empty list unsubscribes."""
    a = group().member()
    kind = None
    for step in steps:
        before = a.core.assignment, a.core.subscription
        if step in ENDS:
            ENDS[step](a)
            kind = None
            assert (a.core.assignment, a.core.subscription) == (set(), frozenset())
        elif kind in (None, step):
            WAYS[step](a)
            kind = step
        else:
            with raises_code(IllegalStateError, "subscription-exclusive"):
                WAYS[step](a)
            assert (a.core.assignment, a.core.subscription) == before
        assert (a.core.assignment == {A}) == (kind == "partitions")


@pytest.mark.parametrize(
    "call, code",
    [
        (lambda core: core.subscribe(["t", " "]), "topic-name-empty"),
        (lambda core: core.assign([A, ("", 1)]), "topic-name-empty"),
        (lambda core: core.subscribe_pattern(re.compile("")), "pattern-empty"),
    ],
    ids=["topic", "partition", "pattern"],
)
def test_empty_names_are_refused_and_nothing_is_subscribed(group, call, code):
    a = group().member()
    with raises_code(IllegalStateError, code):
        a.do(call(a.core))
    assert not a.core.assignment and not a.core.subscription


def test_only_a_group_can_assign_partitions_for_a_subscription(group):
    a = group().member(group_id=None, enable_auto_commit=False)
    with pytest.raises(InvalidGroupIdError):
        a.do(a.core.subscribe(["t"]))


# CSM-API-02


@pytest.mark.parametrize("step", ["at first", *ENDS])
def test_without_a_subscription_there_is_nothing_to_poll(group, step):
    """CSM-API-02."""
    _, a = reading(group, b"x") if step != "at first" else (None, group().member())
    if step != "at first":
        ENDS[step](a)
    with raises_code(IllegalStateError, "nothing-to-poll"):
        a.do(a.core.poll(1_000))


@given(timeout_ms=st.integers(0, 5_000))
def test_without_records_poll_returns_at_its_timeout(group, timeout_ms):
    """CSM-API-02."""
    g, a = reading(group)
    a.do(a.core.position(A))
    began_ms = g.now_ms
    assert not a.do(a.core.poll(timeout_ms)).count
    assert g.now_ms == began_ms + timeout_ms


@given(after_ms=st.integers(10, 3_000))
def test_poll_returns_as_soon_as_there_are_records(group, after_ms):
    """CSM-API-02."""
    g, a = reading(group)
    a.do(a.core.position(A))
    ends: list[Any] = []
    a.start(a.core.poll(60_000), lambda result, error: ends.append((result, error)))
    g.run(after_ms)
    assert not ends
    g.fill(0, b"x")
    g.until(lambda: bool(ends), 100)
    [(records, error)] = ends
    assert error is None and records.count == 1


# CSM-API-06


@pytest.mark.parametrize(
    "call",
    [
        lambda core: core.seek(B, 1),
        lambda core: core.seek_to_beginning([B]),
        lambda core: core.seek_to_end([B]),
        lambda core: core.position(B),
        lambda core: core.pause([B]),
        lambda core: core.resume([B]),
        lambda core: core.current_lag(B),
    ],
    ids=["seek", "to beginning", "to end", "position", "pause", "resume", "lag"],
)
def test_calls_about_a_partition_need_its_assignment(group, call):
    """CSM-API-06."""
    _, a = reading(group)
    with raises_code(IllegalStateError, "partition-not-assigned", partition="t-1"):
        a.do(call(a.core))


@given(offset=st.integers(-(2**63), -1))
def test_a_negative_offset_is_refused_and_the_position_stays(group, offset):
    """CSM-API-06."""
    _, a = reading(group, b"x")
    a.core.seek(A, 1)
    with raises_code(IllegalStateError, "negative-offset"):
        a.core.seek(A, offset)
    assert a.do(a.core.position(A)) == 1


@given(offsets=st.lists(st.integers(0, 5), min_size=1, max_size=4))
def test_the_last_seek_decides_what_the_next_poll_returns_and_needs_no_broker(group, offsets):
    """CSM-API-06."""
    g, a = reading(group, *[b"%d" % each for each in range(6)])
    assert a.do(a.core.poll(10_000)).count == 6
    g.run(2_000)
    asked = len(g.brokers.seen)
    for offset in offsets:
        a.core.seek(A, offset)
        assert a.do(a.core.position(A, 0)) == offset
    assert len(g.brokers.seen) == asked
    found = [record.offset for record in a.do(a.core.poll(10_000))]
    assert found == list(range(offsets[-1], 6))


# CSM-WKP-01


@given(before=st.booleans(), after_ms=st.integers(0, 3_000))
def test_a_wakeup_ends_the_present_or_the_next_wait_once(group, before, after_ms):
    """CSM-WKP-01."""
    g, a = reading(group)
    a.do(a.core.position(A))
    ends: list[Any] = []
    if before:
        a.core.wakeup()
    a.start(a.core.poll(60_000), lambda result, error: ends.append(error))
    if not before:
        g.run(after_ms)
        assert not ends
        a.core.wakeup()
        a.due_ms = g.now_ms
    g.until(lambda: bool(ends), 10)
    assert isinstance(ends[0], WakeupError)
    assert not a.do(a.core.poll(500)).count


@given(st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=12), st.integers(1, 4))
def test_wakeups_lose_and_repeat_no_record(group, pauses, most):
    """CSM-WKP-01: whenever they come, polls that do not raise return every record once and in order."""
    g = group()
    g.fill(0, *[b"%d" % each for each in range(10)])
    a = g.member(max_poll_records=most)
    a.do(a.core.assign([A]))
    found, raised = [], 0
    for pause_ms, is_woken in [*pauses, *[(0, False)] * 15]:
        ends: list[Any] = []
        a.start(a.core.poll(50), lambda result, error, ends=ends: ends.append((result, error)))
        if is_woken and not ends:
            g.run(pause_ms)
        if is_woken:
            a.core.wakeup()
            a.due_ms = g.now_ms
        g.until(lambda ends=ends: bool(ends))
        records, error = ends[0]
        if error is None:
            found += [record.offset for record in records]
        else:
            assert isinstance(error, WakeupError)
            raised += 1
    assert found == list(range(10)) and raised <= sum(woken for _, woken in pauses)


# Versions


def test_a_broker_without_a_usable_fetch_version_is_an_error_of_poll(group):
    """NET-CON-04: at once, in each poll, and not after the partition was given up."""
    g = group()
    g.brokers.offer(Api.FETCH, 0, 3)
    a = g.member()
    a.do(a.core.assign([A]))
    for _ in range(2):
        began_ms = g.now_ms
        with pytest.raises(UnsupportedVersionError):
            a.do(a.core.poll(60_000))
        assert g.now_ms - began_ms < 1_000
    assert not g.brokers.requests(Api.FETCH)
    a.do(a.core.unsubscribe())
    with pytest.raises(IllegalStateError):
        a.do(a.core.poll(0))
