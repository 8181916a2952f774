"""Committed offsets: stable ones only, and errors of a whole request are repeated like those of a partition."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.consumer.errors import TimeoutError
from clients.reference.consumer.subscription.positions import OffsetAndMetadata
from harness.wire.apis import Api

MANUAL = {"enable_auto_commit": False, "partition_assignment_strategy": "range"}
AT_2 = {("t", 0): OffsetAndMetadata(2)}


def fetches(g):
    return g.brokers.requests(Api.OFFSET_FETCH)


def committed_at_2(group, **offered):
    """Return a world in which the group has committed 2 of 4 records, and no client has looked it up."""
    g = group()
    if offered:
        g.brokers.offer(Api.OFFSET_FETCH, 0, offered["highest"])
    g.fill(0, b"a", b"b", b"c", b"d")
    first = g.member(**MANUAL)
    first.do(first.core.assign([("t", 0)]))
    first.do(first.core.commit_sync(AT_2))
    first.do(first.core.close())
    return g


def with_code(code, *, of_group):
    """Return the change of a response to an error of the whole group without partitions, or of each partition."""

    def change(body):
        parts = body.groups if hasattr(body, "groups") else (body,)
        changed = []
        for part in parts:
            if of_group:
                changed.append(replace(part, error_code=code, topics=()))
                continue
            topics = tuple(
                replace(
                    topic,
                    partitions=tuple(
                        replace(each, error_code=code, committed_offset=-1) for each in topic.partitions
                    ),
                )
                for topic in part.topics
            )
            changed.append(replace(part, topics=topics))
        return replace(body, groups=tuple(changed)) if hasattr(body, "groups") else changed[0]

    return change


def answered_with(*codes, of_group):
    """Return a script that answers the first OffsetFetch requests with these errors."""
    left = iter(codes)

    def script(seen):
        code = next(left, None) if seen.api is Api.OFFSET_FETCH else None
        return None if code is None else seen.edit(with_code(code, of_group=of_group))

    return script


@given(
    codes=st.lists(st.sampled_from([14, 15, 16]), max_size=4),
    of_group=st.booleans(),
    highest=st.sampled_from([7, 8, 9]),
)
def test_errors_of_the_request_and_of_a_partition_are_repeated(group, codes, of_group, highest):
    """CSM-OFC-07: the consumer starts at its committed offset, whatever comes before it, and not elsewhere."""
    g = committed_at_2(group, highest=highest)
    a = g.member(auto_offset_reset="latest", **MANUAL)
    g.brokers.script = answered_with(*codes, of_group=of_group)
    a.do(a.core.assign([("t", 0)]))
    assert a.do(a.core.position(("t", 0), 30_000)) == 2
    times = [seen.at_ms for seen in fetches(g)]
    assert len(times) == len(codes) + 1
    assert all(later - earlier >= 100 for earlier, later in pairwise(times))
    assert not g.brokers.requests(Api.LIST_OFFSETS)
    assert all(seen.body.require_stable for seen in fetches(g))


@given(pending=st.integers(1, 6))
def test_while_a_transaction_is_pending_the_offset_is_looked_up_again(group, pending):
    """CSM-OFC-07: the application gets no error, and reads from the offset once it is stable."""
    g = committed_at_2(group)
    a = g.member(**MANUAL)
    g.brokers.script = answered_with(*[88] * pending, of_group=False)
    a.do(a.core.assign([("t", 0)]))
    a.polls()
    g.until(lambda: len(a.records) == 2)
    assert a.records == [(0, 2), (0, 3)] and not a.errors
    assert len(fetches(g)) == pending + 1


@pytest.mark.parametrize("code", [88, 16], ids=["pending", "moved"])
def test_a_lookup_that_never_succeeds_ends_at_its_limit(group, code):
    """CSM-OFC-07, CSM-API-04."""
    g = committed_at_2(group)
    a = g.member(**MANUAL)
    g.brokers.script = answered_with(*[code] * 1_000, of_group=code == 16)
    began_ms = g.now_ms
    with pytest.raises(TimeoutError):
        a.do(a.core.committed([("t", 0)], 3_000))
    assert g.now_ms - began_ms == 3_000 and len(fetches(g)) > 2
