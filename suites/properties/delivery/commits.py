"""Commits and committed offsets: what is repeated, what fails, in which order callbacks run, and what is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from clients.reference.consumer.components import Components
from clients.reference.consumer.errors import (
    CommitFailedError,
    RebalanceInProgressError,
    RetriableCommitFailedError,
    TimeoutError,
)
from clients.reference.consumer.subscription.positions import OffsetAndMetadata
from harness.wire.apis import Api
from suites.properties.group_member import Member
from suites.properties.group_simulation import Group
from suites.properties.property import consumer_property, example
from suites.properties.scripted_brokers import Disposition, Seen
from suites.properties.state_transitions.group_members import ALL, EAGER, FAST

A = ("t", 0)
RETRIABLE = st.sampled_from([3, 7, 14, 15, 16])
UNSTABLE, ILLEGAL_GENERATION, UNKNOWN_MEMBER, REBALANCING = 88, 22, 25, 27


def at(offset: int, metadata: str = "", epoch: int | None = None) -> dict[tuple[str, int], OffsetAndMetadata]:
    """Return an offset of partition 0 to commit."""
    return {A: OffsetAndMetadata(offset, metadata, epoch)}


def idle_member(components: Components, **settings: Any) -> tuple[Group, Member]:
    """Return a member with all partitions whose application is in no call."""
    group = Group(components)
    member = group.joined(**EAGER, **FAST, **settings)
    member.loop = lambda: None
    group.until(lambda: member._call is None, 5_000)
    return group, member


def raised(call: Callable[[], Any]) -> Exception | None:
    """Return what a call raises."""
    try:
        call()
    except Exception as error:
        return error
    return None


def stored(group: Group) -> int | None:
    """Return the offset that the coordinator has for partition 0."""
    found = group.cluster.committed("g").get(A)
    return None if found is None else found.offset


@consumer_property("CSM-OFC-01", codes=st.lists(RETRIABLE, max_size=3), offset=st.integers(0, 100))
@example(codes=[14, 14], offset=7)
def a_synchronous_commit_is_repeated(components: Components, codes: list[int], offset: int) -> None:
    """commit_sync repeats what may succeed later, after a pause each time, and returns once it is stored."""
    group, member = idle_member(components)
    group.brokers.fates(*codes, api=Api.OFFSET_COMMIT)
    error = raised(lambda: member.do(member.core.commit_sync(at(offset)), 30_000))
    assert error is None, f"{error!r}"
    times = [seen.at_ms for seen in group.brokers.requests(Api.OFFSET_COMMIT)]
    assert len(times) == len(codes) + 1
    assert all(later - earlier >= 99 for earlier, later in pairwise(times)), "repeated without a pause"
    assert stored(group) == offset


@consumer_property("CSM-OFC-01", "CSM-API-04", timeout_ms=st.integers(200, 3_000), answers=st.booleans())
@example(timeout_ms=1_500, answers=True)
@example(timeout_ms=1_500, answers=False)
def a_synchronous_commit_ends_at_its_limit(components: Components, timeout_ms: int, answers: bool) -> None:
    """A commit_sync that never succeeds ends with a timeout error at its own limit."""
    group, member = idle_member(components)
    group.brokers.fates(then=14 if answers else "hold", api=Api.OFFSET_COMMIT)
    began_ms = group.now_ms
    error = raised(lambda: member.do(member.core.commit_sync(at(7), timeout_ms), timeout_ms + 5_000))
    assert isinstance(error, TimeoutError), f"{error!r}"
    assert timeout_ms <= group.now_ms - began_ms <= timeout_ms + 20


@consumer_property("CSM-OFC-01", code=RETRIABLE)
def an_asynchronous_commit_reports_what_could_be_repeated(components: Components, code: int) -> None:
    """commit_async sends once. A failure that may succeed later is given to the callback as such."""
    group, member = idle_member(components)
    told: list[Any] = []
    group.brokers.fates(code, api=Api.OFFSET_COMMIT)
    member.do(member.core.commit_async(at(7), lambda offsets, error: told.append((offsets, error))))
    member.polls()
    group.run(3_000)
    assert len(group.brokers.requests(Api.OFFSET_COMMIT)) == 1, "the commit was repeated"
    [(offsets, error)] = told
    assert offsets == at(7) and isinstance(error, RetriableCommitFailedError), f"{error!r}"


@consumer_property("CSM-OFC-02", count=st.integers(2, 4), ends=st.sampled_from(["commit_sync", "poll"]))
@example(count=3, ends="commit_sync")
def callbacks_of_commits_run_in_order(components: Components, count: int, ends: str) -> None:
    """Callbacks run in the order of the commits, in a call only, and before a later commit_sync returns."""
    group, member = idle_member(components)
    told: list[int] = []
    for offset in range(count):
        call = member.core.commit_async(at(offset), lambda offsets, error: told.append(offsets[A].offset))
        member.do(call)
    between = list(told)
    group.run(2_000)
    assert told == between, "a callback ran outside of a call"
    member.do(member.core.commit_sync(at(count)) if ends == "commit_sync" else member.core.poll(100))
    assert told == list(range(count)), f"the callbacks ran as {told}"


@consumer_property("CSM-OFC-03", code=st.sampled_from([ILLEGAL_GENERATION, UNKNOWN_MEMBER, REBALANCING]))
def a_commit_of_an_outdated_member_fails(components: Components, code: int) -> None:
    """A commit of an outdated generation fails for good, one during a rebalance until the next poll. None is stored."""
    group, member = idle_member(components)
    group.brokers.fates(code, api=Api.OFFSET_COMMIT)
    error = raised(lambda: member.do(member.core.commit_sync(at(7)), 30_000))
    wanted = RebalanceInProgressError if code == REBALANCING else CommitFailedError
    assert isinstance(error, wanted), f"{error!r} for {code}"
    assert len(group.brokers.requests(Api.OFFSET_COMMIT)) == 1 and stored(group) is None
    assert member.owned == ALL and member.told == [("assigned", ALL)]
    member.polls()
    group.until(lambda: len(member.told) > 2 and group.is_settled, 30_000)
    assert member.told[1][0] == ("revoked" if code == REBALANCING else "lost")
    assert member.errors == []


@consumer_property("CSM-OFC-05", moves=st.booleans(), code=st.sampled_from([15, 16]))
@example(moves=True, code=16)
def a_commit_without_subscription_names_no_member(components: Components, moves: bool, code: int) -> None:
    """With assigned partitions a commit has generation -1 and no member, and follows the coordinator."""
    group = Group(components, nodes=3)
    member = group.member(enable_auto_commit=False)
    member.do(member.core.assign([A]))
    member.do(member.core.commit_sync(at(7)))
    if moves:
        group.cluster.move_coordinators()
    else:
        group.brokers.fates(code, api=Api.OFFSET_COMMIT)
    looked_up = len(group.brokers.requests(Api.FIND_COORDINATOR))
    error = raised(lambda: member.do(member.core.commit_sync(at(8), 10_000), 30_000))
    assert error is None, f"{error!r}"
    assert len(group.brokers.requests(Api.FIND_COORDINATOR)) > looked_up, "the coordinator was not looked up"
    said = {
        (seen.body.generation_id_or_member_epoch, seen.body.member_id)
        for seen in group.brokers.requests(Api.OFFSET_COMMIT)
    }
    assert said == {(-1, "")}, f"committed as {said}"
    assert stored(group) == 8


@consumer_property(
    "CSM-OFC-06",
    offset=st.integers(0, 2**40),
    metadata=st.text(max_size=9),
    epoch=st.none() | st.integers(0, 9),
)
@example(offset=7, metadata="m", epoch=3)
def what_is_committed_comes_back(
    components: Components, offset: int, metadata: str, epoch: int | None
) -> None:
    """The offset, its metadata and its leader epoch are stored and given back as they were committed."""
    _, member = idle_member(components)
    said = at(offset, metadata, epoch)
    member.do(member.core.commit_sync(said))
    assert member.do(member.core.committed([A])) == said


@consumer_property("CSM-OFC-06", count=st.integers(0, 5))
@example(count=3)
def a_commit_of_everything_is_the_next_offset(components: Components, count: int) -> None:
    """Without offsets, a commit has the offset after the last record that poll() returned."""
    group = Group(components, partitions=1)
    if count:
        group.fill(0, *(b"x" for _ in range(count)))
    member = group.joined(**EAGER, **FAST)
    group.until(lambda: len(member.records) == count, 10_000)
    group.run(1_000)
    member.do(member.core.commit_sync())
    assert stored(group) == count


@consumer_property(
    "CSM-OFC-07",
    codes=st.lists(st.sampled_from([14, 15, 16]), max_size=3),
    of_group=st.booleans(),
    unstable=st.integers(0, 2),
    highest=st.sampled_from([7, 9]),
)
@example(codes=[16], of_group=True, unstable=0, highest=9)
@example(codes=[16], of_group=True, unstable=0, highest=7)
@example(codes=[], of_group=False, unstable=2, highest=9)
def a_stable_offset_is_asked_for_until_it_comes(
    components: Components, codes: list[int], of_group: bool, unstable: int, highest: int
) -> None:
    """A lookup of the committed offset is repeated, whatever part of the answer has the error, and no other is used."""
    group = Group(components, nodes=3)
    group.brokers.offer(Api.OFFSET_FETCH, 0, highest)
    group.cluster.commit("g", "t", 0, 2)
    member = group.member(auto_offset_reset="latest", enable_auto_commit=False)
    answers = [_with_code(code, of_group=of_group) for code in codes]
    answers += [_with_code(UNSTABLE, of_group=False)] * unstable
    group.brokers.script = lambda seen: (
        seen.edit(answers.pop(0)) if seen.api is Api.OFFSET_FETCH and answers else None
    )
    member.do(member.core.assign([A]))
    position = member.do(member.core.position(A, 30_000), 60_000)
    assert position == 2, f"the committed offset is 2, and the position {position}"
    asked = group.brokers.requests(Api.OFFSET_FETCH)
    assert len(asked) == len(codes) + unstable + 1
    assert all(seen.body.require_stable for seen in asked), "offsets in doubt were asked for"
    assert all(later.at_ms - earlier.at_ms >= 99 for earlier, later in pairwise(asked))
    lookups = 1 + sum(code in (15, 16) for code in codes)
    assert len(group.brokers.requests(Api.FIND_COORDINATOR)) == lookups, "the coordinator was not looked up"


def _with_code(code: int, *, of_group: bool) -> Callable[[Any], Any]:
    """Return the change of an answer to an error of the whole group without partitions, or of each partition."""

    def part(answer: Any) -> Any:
        if of_group:
            return replace(answer, error_code=code, topics=())
        topics = tuple(
            replace(
                topic,
                partitions=tuple(
                    replace(each, error_code=code, committed_offset=-1) for each in topic.partitions
                ),
            )
            for topic in answer.topics
        )
        return replace(answer, topics=topics)

    def change(body: Any) -> Any:
        if hasattr(body, "groups"):
            return replace(body, groups=tuple(map(part, body.groups)))
        return part(body)

    return change


# Automatic commits


def committed_in(seen: Seen) -> dict[int, int]:
    """Return the offset of each partition in an OffsetCommit."""
    return {
        each.partition_index: each.committed_offset for topic in seen.body.topics for each in topic.partitions
    }


def _automatic(components: Components, interval_ms: int, partitions: int = 1) -> Group:
    group = Group(components, partitions=partitions)
    settings = EAGER | FAST | {"enable_auto_commit": True, "auto_commit_interval_ms": interval_ms}
    group.member(**settings, max_poll_records=1).subscribe()
    return group


@consumer_property("CSM-ACM-01", interval_ms=st.integers(100, 1_000), records=st.integers(1, 4))
@example(interval_ms=100, records=3)
def an_automatic_commit_covers_earlier_polls_only(
    components: Components, interval_ms: int, records: int
) -> None:
    """An automatic commit has no offset beyond the records that polls before it have returned."""
    group = _automatic(components, interval_ms)
    [member] = group.members
    group.fill(0, *(b"x" for _ in range(records)))
    beyond: list[tuple[int, int]] = []

    def script(seen: Seen) -> Disposition:
        if seen.api is Api.OFFSET_COMMIT and committed_in(seen).get(0, 0) > len(member.records):
            beyond.append((committed_in(seen)[0], len(member.records)))
        return None

    group.brokers.script = script
    member.polls(timeout_ms=200)
    group.until(lambda: len(member.records) == records, 30_000)
    group.run(interval_ms + 300)
    assert not beyond, f"committed {beyond[0][0]} after {beyond[0][1]} records"
    assert stored(group) == records, f"the records are read, and {stored(group)} is committed"


@consumer_property("CSM-ACM-01", idle_ms=st.integers(1_000, 8_000))
def without_another_poll_nothing_is_committed(components: Components, idle_ms: int) -> None:
    """What a poll has returned is committed by the next one at the earliest, so a crash between them loses nothing."""
    group = _automatic(components, 500)
    [member] = group.members
    group.fill(0, b"x", b"y")
    records = 0
    while not records:
        records = member.do(member.core.poll(1_000)).count
    group.run(idle_ms)
    found = [committed_in(seen) for seen in group.brokers.requests(Api.OFFSET_COMMIT)]
    assert all(each == {0: 0} for each in found), f"committed {found} without another poll"


@consumer_property(
    "CSM-ACM-02",
    "CSM-API-05",
    gives_up=st.sampled_from(["rebalance", "close", "assign"]),
    records=st.integers(1, 3),
)
@example(gives_up="rebalance", records=2)
@example(gives_up="close", records=2)
def what_was_read_is_committed_before_it_is_given_up(
    components: Components, gives_up: str, records: int
) -> None:
    """An automatic commit precedes the loss of partitions in a rebalance, by close() and by another assignment."""
    by_hand = gives_up == "assign"
    group = _automatic(components, 0 if by_hand else 600_000, partitions=2)
    [member] = group.members
    if by_hand:
        member.do(member.core.unsubscribe())
        member.do(member.core.assign([A]))
    group.fill(0, *(b"x" for _ in range(records)))
    member.polls()
    group.until(lambda: len(member.records) == records, 10_000)
    group.run(50)
    if gives_up == "rebalance":
        group.joined(**EAGER, **FAST)
    else:
        member.loop = lambda: None
        member.do(member.core.close() if gives_up == "close" else member.core.assign([("t", 1)]))
        group.run(100)
    assert stored(group) == records, f"{stored(group)} is committed of {records}"
    if not by_hand:
        commits = [seen.at_ms for seen in group.brokers.requests(Api.OFFSET_COMMIT)]
        assert ("revoked", [0, 1]) in member.told and commits


@consumer_property("CSM-ACM-02", interval_ms=st.integers(300, 5_000))
@example(interval_ms=1_000)
def automatic_commits_keep_their_interval(components: Components, interval_ms: int) -> None:
    """While the application polls, offsets are committed each auto.commit.interval.ms."""
    group = _automatic(components, interval_ms)
    [member] = group.members
    group.fill(0, b"x")
    member.polls(timeout_ms=100)
    group.until(lambda: group.is_settled, 10_000)
    begun_ms = group.now_ms
    group.run(4 * interval_ms + 500)
    times = [seen.at_ms for seen in group.brokers.requests(Api.OFFSET_COMMIT) if seen.at_ms >= begun_ms]
    assert len(times) >= 3, f"{len(times)} commits in {4 * interval_ms} ms"
    for earlier, later in pairwise(times):
        assert interval_ms - 1 <= later - earlier <= interval_ms + 120


@consumer_property("CSM-ACM-03", codes=st.lists(st.sampled_from([14, 12]), min_size=1, max_size=2))
@example(codes=[14, 14])
@example(codes=[12])
def an_automatic_commit_that_fails_comes_again(components: Components, codes: list[int]) -> None:
    """A failed automatic commit comes again after the backoff or, if it is final, the interval. poll() goes on."""
    interval_ms = 3_000
    group = _automatic(components, interval_ms)
    [member] = group.members
    group.fill(0, b"x")
    group.brokers.fates(*codes, api=Api.OFFSET_COMMIT)
    member.polls(timeout_ms=100)
    wanted = len(codes) + 1
    group.run_until(
        lambda: len(group.brokers.requests(Api.OFFSET_COMMIT)) == wanted, wanted * (interval_ms + 1_000)
    )
    times = [seen.at_ms for seen in group.brokers.requests(Api.OFFSET_COMMIT)]
    assert len(times) == wanted, f"{len(times)} commits"
    for code, (earlier, later) in zip(codes, pairwise(times), strict=True):
        due_ms = 100 if code == 14 else interval_ms
        assert due_ms - 1 <= later - earlier <= due_ms + 220, f"{later - earlier} ms after {code}"
    group.run(100)
    assert member.errors == [] and stored(group) == 1
