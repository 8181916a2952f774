"""Commits: synchronous, asynchronous and automatic, against the scripted group coordinator."""

from __future__ import annotations

from itertools import pairwise

import pytest

from clients.reference.consumer.errors import (
    CommitFailedError,
    ConsumerError,
    FencedInstanceIdError,
    OffsetMetadataTooLargeError,
    RebalanceInProgressError,
    RetriableCommitFailedError,
    TimeoutError,
)
from clients.reference.consumer.subscription.positions import OffsetAndMetadata
from clients.reference.errors import IllegalStateError
from harness.wire.apis import Api

FAST = {"session_timeout_ms": 6_000, "heartbeat_interval_ms": 1_000}
EAGER = FAST | {"partition_assignment_strategy": "range"}
MANUAL = EAGER | {"enable_auto_commit": False}
AT_7 = {("t", 0): OffsetAndMetadata(7)}


def stored(g, partition=0):
    """Return the committed offset of a partition, or None."""
    found = g.members[0].do(g.members[0].core.committed([("t", partition)]))["t", partition]
    return None if found is None else found.offset


def commits(g):
    return g.brokers.requests(Api.OFFSET_COMMIT)


def committed_in(seen):
    """Return the offset of each partition in an OffsetCommit."""
    return {
        each.partition_index: each.committed_offset for topic in seen.body.topics for each in topic.partitions
    }


@pytest.mark.parametrize("code", [3, 7, 14, 15, 16])
def test_commit_sync_repeats_what_can_be_repeated(group, code):
    """CSM-OFC-01."""
    g = group()
    a = g.joined(**MANUAL)
    a.loop = lambda: None
    g.brokers.fates(code, code, api=Api.OFFSET_COMMIT)
    a.do(a.core.commit_sync(AT_7))
    times = [seen.at_ms for seen in commits(g)]
    assert len(times) == 3 and all(later - earlier >= 100 for earlier, later in pairwise(times))
    assert stored(g) == 7


def test_commit_sync_ends_at_its_limit(group):
    """CSM-OFC-01, CSM-API-04."""
    g = group()
    a = g.joined(**MANUAL)
    a.loop = lambda: None
    g.brokers.fates(then=14, api=Api.OFFSET_COMMIT)
    g.run(2_000)
    before = g.now_ms
    with pytest.raises(TimeoutError):
        a.do(a.core.commit_sync(AT_7, 1_500))
    assert 1_500 <= g.now_ms - before <= 1_600 and len(commits(g)) > 2


@pytest.mark.parametrize("code", [3, 7, 14, 15, 16])
def test_commit_async_reports_a_retriable_failure_and_does_not_repeat(group, code):
    """CSM-OFC-01."""
    g = group()
    a = g.joined(**MANUAL)
    g.brokers.fates(code, api=Api.OFFSET_COMMIT)
    told = []
    a.do(a.core.commit_async(AT_7, lambda offsets, error: told.append((offsets, error))))
    g.run(5_000)
    [(offsets, error)] = told
    assert offsets == AT_7 and isinstance(error, RetriableCommitFailedError) and error.retriable
    assert error.__cause__ is not None and len(commits(g)) == 1


def test_callbacks_run_in_order_in_a_call_and_before_a_later_commit_sync_returns(group):
    """CSM-OFC-02."""
    g = group()
    a = g.joined(**MANUAL)
    a.loop = lambda: None
    told = []
    for offset in (1, 2, 3):
        a.do(
            a.core.commit_async(
                {("t", 0): OffsetAndMetadata(offset)},
                lambda offsets, error: told.append((offsets["t", 0].offset, error)),
            )
        )
    assert told == []
    g.run(3_000)
    assert told == [], "no callback without a call"
    a.do(a.core.commit_sync({("t", 0): OffsetAndMetadata(4)}))
    assert told == [(1, None), (2, None), (3, None)] and stored(g) == 4


def test_a_commit_that_ends_at_once_waits_for_those_before_it(group):
    """CSM-OFC-02."""
    g = group()
    a = g.joined(**MANUAL)
    a.loop = lambda: None
    told = []
    g.brokers.fates("late", api=Api.OFFSET_COMMIT)
    for offsets in (AT_7, {}):
        a.do(a.core.commit_async(offsets, lambda offsets, error: told.append((offsets, error))))
    a.do(a.core.commit_async({}))
    assert told == []
    g.run(5_000)
    a.do(a.core.commit_async({}))
    assert told == [(AT_7, None), ({}, None)] and len(commits(g)) == 1


def test_asynchronous_commits_without_a_coordinator_keep_their_order(group):
    """CSM-OFC-02: they wait for the lookup, and so does the synchronous one behind them."""
    g = group()
    a = g.member(enable_auto_commit=False)
    a.do(a.core.assign([("t", 0)]))
    told = []
    for offset in (1, 2):
        a.do(
            a.core.commit_async(
                {("t", 0): OffsetAndMetadata(offset)}, lambda offsets, error: told.append(offsets)
            )
        )
    a.do(a.core.commit_sync({("t", 0): OffsetAndMetadata(3)}))
    assert [committed_in(seen)[0] for seen in commits(g)] == [1, 2, 3]
    assert [offsets["t", 0].offset for offsets in told] == [1, 2]
    assert len(g.brokers.requests(Api.FIND_COORDINATOR)) == 1


def test_a_commit_of_nothing_waits_for_those_before_it(group):
    g = group()
    a = g.joined(**MANUAL)
    a.loop = lambda: None
    told = []
    g.brokers.fates("late", api=Api.OFFSET_COMMIT)
    a.do(a.core.commit_async(AT_7, lambda offsets, error: told.append(error)))
    a.do(a.core.commit_sync({}))
    assert told == [None] and len(commits(g)) == 1


@pytest.mark.parametrize("code", [22, 25])
def test_a_commit_of_a_lost_generation_fails_and_nothing_is_stored(group, code):
    """CSM-OFC-03."""
    g = group()
    a = g.joined(**MANUAL)
    a.loop = lambda: None
    g.brokers.fates(code, api=Api.OFFSET_COMMIT)
    with pytest.raises(CommitFailedError):
        a.do(a.core.commit_sync(AT_7))
    assert len(commits(g)) == 1 and stored(g) is None
    a.polls()
    g.until(lambda: g.is_settled and a.owned == [0, 1, 2, 3])
    assert ("lost", [0, 1, 2, 3]) in a.told and a.errors == []


def test_a_commit_of_a_member_that_left_fails_without_a_request(group):
    """CSM-OFC-03: the poll interval is over."""
    g = group()
    a = g.joined(**MANUAL, max_poll_interval_ms=7_000)
    a.loop = lambda: None
    g.run(10_000)
    with pytest.raises(CommitFailedError):
        a.do(a.core.commit_sync(AT_7))
    assert commits(g) == []


def test_a_commit_during_a_rebalance_says_so_and_keeps_the_partitions_until_poll(group):
    """CSM-OFC-03."""
    g = group()
    a = g.joined(**MANUAL)
    a.loop = lambda: None
    g.brokers.fates(27, api=Api.OFFSET_COMMIT)
    with pytest.raises(RebalanceInProgressError):
        a.do(a.core.commit_sync(AT_7))
    assert a.owned == [0, 1, 2, 3] and a.told == [("assigned", [0, 1, 2, 3])]
    a.polls()
    g.until(lambda: len(a.told) == 3)
    assert g.is_settled and a.told[1] == ("revoked", [0, 1, 2, 3])


def test_a_fenced_member_learns_it_from_its_next_call(group):
    g = group()
    a = g.joined(**MANUAL, group_instance_id="i")
    a.loop = lambda: None
    g.brokers.fates(82, api=Api.OFFSET_COMMIT)
    a.do(a.core.commit_async(AT_7))
    g.run(100)
    with pytest.raises(FencedInstanceIdError):
        a.do(a.core.poll(1_000))


def test_with_assigned_partitions_a_commit_has_no_member_and_survives_a_move_of_the_coordinator(group):
    """CSM-OFC-05."""
    g = group(nodes=3)
    a = g.member(enable_auto_commit=False)
    a.do(a.core.assign([("t", 0)]))
    a.do(a.core.commit_sync(AT_7))
    g.cluster.move_coordinators()
    a.do(a.core.commit_sync({("t", 0): OffsetAndMetadata(8)}))
    assert {(seen.body.generation_id_or_member_epoch, seen.body.member_id) for seen in commits(g)} == {
        (-1, "")
    }
    assert len(g.brokers.requests(Api.FIND_COORDINATOR)) >= 2 and stored(g) == 8


def test_metadata_and_leader_epoch_are_stored_with_an_offset(group):
    """CSM-OFC-06."""
    g = group()
    a = g.joined(**MANUAL)
    a.loop = lambda: None
    said = {("t", 0): OffsetAndMetadata(7, "m", 3), ("t", 1): OffsetAndMetadata(0)}
    a.do(a.core.commit_sync(said))
    found = a.do(a.core.committed([("t", 0), ("t", 1), ("t", 2)]))
    assert found == said | {("t", 2): None}


def test_a_committed_offset_is_the_next_one_to_read(group):
    """CSM-OFC-06."""
    g = group()
    g.fill(0, b"a", b"b", b"c")
    a = g.joined(**MANUAL)
    g.until(lambda: len(a.records) == 3)
    a.do(a.core.commit_sync())
    assert stored(g) == 3


def test_metadata_that_are_too_large_are_refused(group):
    """CSM-OFC-06."""
    g = group()
    a = g.joined(**MANUAL)
    a.loop = lambda: None
    with pytest.raises(OffsetMetadataTooLargeError):
        a.do(a.core.commit_sync({("t", 0): OffsetAndMetadata(7, "m" * 5_000)}))


def test_a_negative_offset_is_refused():
    """CSM-OFC-06, CSM-API-06."""
    with pytest.raises(IllegalStateError):
        OffsetAndMetadata(-1)


@pytest.mark.parametrize("code", [29, 30])
def test_a_forbidden_commit_is_not_repeated(group, code):
    g = group()
    a = g.joined(**MANUAL)
    a.loop = lambda: None
    g.brokers.fates(code, api=Api.OFFSET_COMMIT)
    with pytest.raises(ConsumerError) as raised:
        a.do(a.core.commit_sync(AT_7))
    assert "Authorization" in raised.value.name and len(commits(g)) == 1


# Automatic commits


def test_an_automatic_commit_covers_what_an_earlier_poll_returned(group):
    """CSM-ACM-01, CSM-ACM-02: whatever is committed was returned before the poll that commits."""
    g = group(partitions=1)
    a = g.joined(**EAGER, auto_commit_interval_ms=1_000, max_poll_records=1)
    returned = []
    a.polls(timeout_ms=200)
    g.brokers.script = lambda seen: (
        returned.append((len(a.records), committed_in(seen).get(0)))
        if seen.api is Api.OFFSET_COMMIT
        else None
    )
    for number in range(20):
        g.fill(0, b"%d" % number)
        g.run(500)
    assert len(a.records) == 20 and 5 <= len(returned) <= 12
    assert all(offset <= count for count, offset in returned) and returned[-1][1] >= 17


def test_without_another_poll_nothing_is_committed(group):
    """CSM-ACM-01: a crash after poll loses nothing."""
    g = group(partitions=1)
    g.fill(0, b"a", b"b")
    a = g.member(**EAGER, auto_commit_interval_ms=1_000).subscribe()
    while not a.do(a.core.poll(1_000)).count:
        pass
    g.run(5_000)
    assert all(committed_in(seen) == {0: 0} for seen in commits(g))


def test_before_partitions_are_given_up_they_are_committed(group):
    """CSM-ACM-02."""
    g = group(partitions=1)
    g.fill(0, b"a", b"b")
    a = g.joined(**EAGER, auto_commit_interval_ms=600_000)
    g.until(lambda: len(a.records) == 2)
    assert commits(g) == []
    g.joined(**EAGER, auto_commit_interval_ms=600_000)
    first = commits(g)[0]
    assert committed_in(first) == {0: 2}
    rejoin = [seen for seen in g.brokers.requests(Api.JOIN_GROUP) if seen.at_ms >= first.at_ms]
    assert rejoin and a.told[1] == ("revoked", [0])


def test_close_commits_and_leaves(group):
    """CSM-ACM-02, CSM-API-05."""
    g = group(partitions=1)
    g.fill(0, b"a", b"b")
    a = g.joined(**EAGER)
    g.until(lambda: len(a.records) == 2)
    a.do(a.core.close())
    assert committed_in(commits(g)[-1]) == {0: 2} and a.told[-1] == ("revoked", [0])
    assert len(g.brokers.requests(Api.LEAVE_GROUP)) == 1
    a.do(a.core.close())
    b = g.joined(**EAGER)
    g.run(2_000)
    assert b.records == []


def test_a_new_assignment_by_hand_commits_what_the_old_one_read(group):
    """CSM-ACM-02."""
    g = group()
    g.fill(0, b"a", b"b")
    a = g.member(auto_commit_interval_ms=0)
    a.do(a.core.assign([("t", 0)]))
    a.polls()
    g.until(lambda: len(a.records) == 2)
    a.loop = lambda: None
    g.run(2_000)
    before = len(commits(g))
    a.do(a.core.assign([("t", 1)]))
    g.run(100)
    assert [committed_in(seen) for seen in commits(g)[before:]][:1] == [{0: 2}]


def test_a_failed_automatic_commit_is_repeated_after_a_backoff_and_does_not_fail_poll(group):
    """CSM-ACM-03."""
    g = group(partitions=1)
    g.fill(0, b"a")
    a = g.joined(**EAGER, auto_commit_interval_ms=5_000)
    g.brokers.fates(14, 14, api=Api.OFFSET_COMMIT)
    g.until(lambda: len(commits(g)) == 3, 20_000)
    times = [seen.at_ms for seen in commits(g)]
    assert all(100 <= later - earlier < 2_000 for earlier, later in pairwise(times))
    assert a.errors == [] and committed_in(commits(g)[-1]) == {0: 1}


def test_an_automatic_commit_that_cannot_be_repeated_waits_for_the_next_interval(group):
    """CSM-ACM-03."""
    g = group(partitions=1)
    g.fill(0, b"a")
    a = g.joined(**EAGER, auto_commit_interval_ms=5_000)
    g.brokers.fates(12, api=Api.OFFSET_COMMIT)
    g.until(lambda: len(commits(g)) == 2, 20_000)
    first, second = (seen.at_ms for seen in commits(g))
    assert second - first >= 5_000 and a.errors == []


def test_partitions_without_a_valid_position_are_not_committed(group):
    """CSM-ACM-04."""
    g = group(partitions=2)
    g.fill(0, b"a")
    g.fill(1, b"b")
    a = g.joined(**EAGER)
    g.until(lambda: len(a.records) == 2)
    a.loop = lambda: None
    g.run(2_000)
    a.core.seek_to_beginning([("t", 1)])
    a.do(a.core.close())
    assert committed_in(commits(g)[-1]) == {0: 1}
