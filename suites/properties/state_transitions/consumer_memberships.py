"""A member of a group of KIP-848: its moves, its heartbeats, reconciliation, and how its membership ends."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from clients.reference.consumer.components import Components
from clients.reference.consumer.errors import CommitFailedError, ConsumerError
from clients.reference.consumer.subscription.positions import OffsetAndMetadata
from clients.reference.telemetry.trace import OffsetCommitEnded, StateChanged
from harness.wire.apis import Api
from suites.properties.group_member import Member
from suites.properties.group_simulation import Group
from suites.properties.property import consumer_property, example
from suites.properties.scripted_brokers import Disposition, Seen
from suites.properties.state_transitions.group_members import ALL, fates_of, follows_the_oracle

BEAT = Api.CONSUMER_GROUP_HEARTBEAT
FENCING = st.sampled_from([25, 110])
FATAL = st.sampled_from([30, 42, 81, 112, 111, 82, 35, 128, 87])
#: The interval of the scripted brokers.
INTERVAL_MS = 1_000
STALE_EPOCH = 113


def member_of(group: Group, **settings: Any) -> Member:
    """Return a new member with an id of its own, which polls."""
    member = group.member(group_protocol="consumer", **settings)
    member.coordinator._take_epoch(0, f"member-{len(group.members)}")
    return member.subscribe().polls()


def settled(group: Group) -> bool:
    """Return whether the members that run share all partitions, and are stable."""
    running = [each for each in group.members if each.is_running]
    owned = sorted(index for each in running for index in each.owned)
    return owned == ALL and all(each.coordinator.state.told == "STABLE" for each in running)


def joined(group: Group, **settings: Any) -> Member:
    """Return a member that has settled with those before it."""
    member = member_of(group, **settings)
    group.until(lambda: settled(group) and bool(member.owned), 60_000)
    group.run(100)
    return member


def beats(group: Group, since: int = 0) -> list[Any]:
    """Return the heartbeats from a number on."""
    return [seen.body for seen in group.brokers.requests(BEAT)][since:]


def moves(member: Member) -> list[str]:
    """Return the member's states, in order."""
    return [each.after for each in member.kinds(StateChanged) if each.machine == "membership"]


@consumer_property(
    "CSM-NGP-05",
    "CSM-NGP-06",
    fates=st.lists(
        st.sampled_from([None, "hold", "close-after", "close-before", 14, 16, 25, 110]), max_size=4
    ),
    members=st.integers(1, 2),
    ends=st.sampled_from(["close", "kill", "nothing"]),
)
@example(fates=["close-after", 110], members=2, ends="close")
def members_of_kip_848_move_as_the_oracle_says(
    components: Components, fates: list[Disposition], members: int, ends: str
) -> None:
    """Each move is the oracle's, and whatever happens to heartbeats, each partition has one owner at last."""
    group = Group(components)
    left = list(fates)
    group.brokers.script = lambda seen: left.pop(0) if seen.api is BEAT and left else None
    for _ in range(members):
        member_of(group)
    group.until(lambda: not left and settled(group), 200_000)
    if members == 2 and ends != "nothing":
        last = group.members[-1]
        last.kill() if ends == "kill" else last.do(last.core.close())
        group.until(lambda: settled(group), 200_000)
    for member in group.members:
        follows_the_oracle(member, "membership")
        assert member.errors == []


@consumer_property("CSM-NGP-01", is_static=st.booleans(), ends=st.sampled_from(["close", "unsubscribe"]))
@example(is_static=True, ends="close")
@example(is_static=False, ends="unsubscribe")
def a_member_says_that_it_joins_and_leaves(components: Components, is_static: bool, ends: str) -> None:
    """A member joins with epoch 0, keeps the epoch that it is given, and leaves with -1, or with -2 if it is static."""
    group = Group(components)
    own = {"group_instance_id": "i"} if is_static else {}
    member = joined(group, **own)
    group.run(INTERVAL_MS + 100)
    epochs = [body.member_epoch for body in beats(group)]
    assert epochs[0] == 0 and set(epochs[1:]) == {2}, f"epochs {epochs}"
    member.loop = lambda: None
    sent = len(epochs)
    member.do(member.core.close() if ends == "close" else member.core.unsubscribe())
    group.run(INTERVAL_MS + 100)
    last = [body.member_epoch for body in beats(group, sent)]
    assert last == [-2 if is_static else -1], f"the last epochs are {last}"


@consumer_property("CSM-NGP-02", latency_ms=st.integers(1, 2_000), polls=st.booleans())
@example(latency_ms=1, polls=False)
@example(latency_ms=2_000, polls=True)
def heartbeats_keep_the_brokers_interval(components: Components, latency_ms: int, polls: bool) -> None:
    """A member joins and acknowledges at once. Then it sends one in each interval, or when the last was answered."""
    group = Group(components)
    member = joined(group)
    times = [seen.at_ms for seen in group.brokers.requests(BEAT)]
    assert len(times) >= 2 and times[1] - times[0] <= 100, f"acknowledged after {times}"
    if not polls:
        member.loop = lambda: None
    group.proxy().down.delay("property", latency_ms * 1_000_000)
    sent = len(times)
    between_ms = max(INTERVAL_MS, latency_ms)
    group.run(5 * (between_ms + 100))
    later = [seen.at_ms for seen in group.brokers.requests(BEAT)[sent - 1 :]]
    assert len(later) >= 5
    assert INTERVAL_MS - 1 <= later[1] - later[0] <= INTERVAL_MS + 100, "the last one before had its answer"
    for earlier, following in pairwise(later[1:]):
        assert between_ms - 1 <= following - earlier <= between_ms + 100, f"heartbeats at {later}"


@consumer_property("CSM-NGP-02", wait_ms=st.integers(6_000, 25_000))
@example(wait_ms=16_000)
def one_heartbeat_is_outstanding(components: Components, wait_ms: int) -> None:
    """While a heartbeat has no answer, the next one waits."""
    group = Group(components)
    joined(group)
    sent = len(beats(group))
    group.brokers.script = lambda seen: "hold" if seen.api is BEAT else None
    group.run(wait_ms)
    assert len(beats(group, sent)) == 1, f"{len(beats(group, sent))} heartbeats are outstanding"


@consumer_property(
    "CSM-NGP-03", "CSM-NGP-06", fate=st.sampled_from(["hold", "close-after", "close-before", 14, 16])
)
@example(fate="close-after")
def a_heartbeat_says_everything_after_a_failure(components: Components, fate: Disposition) -> None:
    """A heartbeat says what has changed. The one after a failure says everything, with the same epoch."""
    group = Group(components)
    member = joined(group, request_timeout_ms=3_000)
    sent = len(beats(group))
    group.brokers.script = fates_of(BEAT, fate)
    group.until(lambda: len(beats(group)) > sent + 1, 60_000)
    usual, repeated = beats(group, sent)[:2]
    assert usual.topic_partitions is None and usual.subscribed_topic_names is None, "nothing has changed"
    assert repeated.subscribed_topic_names and repeated.topic_partitions, "something was left out"
    assert repeated.member_epoch == usual.member_epoch == 2
    group.run(5 * INTERVAL_MS)
    assert member.told == [("assigned", ALL)], "there was a rebalance"


@consumer_property("CSM-NGP-05", "CSM-GRP-12", code=FENCING, polls=st.booleans())
@example(code=110, polls=False)
@example(code=25, polls=True)
def a_fenced_member_loses_and_joins(components: Components, code: int, polls: bool) -> None:
    """A fenced member is silent until its application polls, reports its partitions as lost, and joins with epoch 0."""
    group = Group(components)
    member = joined(group)
    if not polls:
        member.loop = lambda: None
    group.brokers.script = fates_of(BEAT, code)
    group.run_until(lambda: "FENCED" in moves(member), 20_000)
    assert "FENCED" in moves(member), f"the member is {moves(member)[-1]}"
    sent = len(beats(group))
    if not polls:
        group.run(20_000)
        assert len(beats(group)) == sent, "a fenced member has sent a heartbeat"
        member.polls()
    group.until(lambda: settled(group), 60_000)
    assert member.told == [("assigned", ALL), ("lost", ALL), ("assigned", ALL)]
    assert beats(group, sent)[0].member_epoch == 0


@consumer_property("CSM-NGP-07", poll_ms=st.integers(8_000, 15_000), late_ms=st.integers(1_000, 10_000))
@example(poll_ms=10_000, late_ms=5_000)
def a_member_of_kip_848_that_is_not_polled_leaves(components: Components, poll_ms: int, late_ms: int) -> None:
    """Without a poll for max.poll.interval.ms the member leaves. At the next poll it loses what it had, and joins."""
    group = Group(components)
    member = joined(group, max_poll_interval_ms=poll_ms)
    member.loop = lambda: None
    group.run(poll_ms + late_ms)
    assert beats(group)[-1].member_epoch == -1, "the member has not left"
    assert moves(member)[-1] == "STALE" and member.told == [("assigned", ALL)]
    member.polls()
    group.until(lambda: settled(group), 60_000)
    assert member.told == [("assigned", ALL), ("lost", ALL), ("assigned", ALL)] and member.errors == []


@consumer_property("CSM-NGP-04", "CSM-NGP-08", raises=st.sampled_from(["", "revoked", "assigned"]))
@example(raises="")
@example(raises="revoked")
def a_member_reconciles_in_order(components: Components, raises: str) -> None:
    """Commit, revoke, assign, acknowledge. A listener that fails is called again, and until then nothing follows."""
    group = Group(components)
    for partition in ALL:
        group.fill(partition, b"x", b"y")
    member = joined(group, auto_commit_interval_ms=1_000_000)
    group.until(lambda: len(member.records) == 8, 10_000)
    group.run(1_000)
    order: list[str] = []

    def script(seen: Seen) -> Disposition:
        if seen.api is Api.OFFSET_COMMIT:
            order.append("commit")
        elif seen.api is BEAT and seen.body.member_id == "member-1" and seen.body.topic_partitions:
            order.append("acknowledge")
        return None

    group.brokers.script = script
    member.listener.heard = order.append
    if raises:
        member.listener.raises[raises] = RuntimeError("no")
    joined(group)
    due = ["revoked", "assigned", "acknowledge"]
    if raises:
        due.insert(due.index(raises), raises)
    assert order[0] == "commit", f"the order is {order}"
    assert [each for each in order if each != "commit"][: len(due)] == due, f"the order is {order}"
    assert len(member.errors) == (1 if raises else 0)


@consumer_property("CSM-NGP-04", partition=st.sampled_from(ALL))
def nothing_is_read_before_its_callback(components: Components, partition: int) -> None:
    """A new partition is not read until onPartitionsAssigned has run, even if the listener has sought a position."""
    group = Group(components)
    group.fill(partition, b"x", b"y")
    member = group.member(group_protocol="consumer").subscribe()
    during: list[bool] = []

    def heard(what: str) -> None:
        member.core.seek(("t", partition), 1)
        during.append(member.core._parts.subscriptions.is_fetchable(("t", partition)))

    member.listener.heard = heard
    member.polls()
    group.until(lambda: bool(member.records), 30_000)
    assert during == [False], "a partition was read during its callback"
    assert member.records == [(partition, 1)]


@consumer_property("CSM-NGP-09", code=FATAL)
@example(code=82)
@example(code=128)
def some_errors_end_the_membership(components: Components, code: int) -> None:
    """An error that no repetition can heal ends the membership: partitions are lost, and each poll raises it."""
    group = Group(components)
    member = joined(group)
    group.brokers.script = fates_of(BEAT, code)
    group.run_until(lambda: len(member.errors) > 1, 20_000)
    assert len(member.errors) > 1, f"poll() raises nothing after error {code}"
    sent = len(beats(group))
    group.run(5 * INTERVAL_MS)
    assert len(beats(group)) == sent, "the member goes on sending heartbeats"
    assert member.told == [("assigned", ALL), ("lost", ALL)] and member.owned == []


@consumer_property("CSM-OFC-04", codes=st.lists(st.sampled_from([STALE_EPOCH, 14]), min_size=1, max_size=2))
@example(codes=[STALE_EPOCH])
def the_commit_before_a_revocation_is_repeated(components: Components, codes: list[int]) -> None:
    """With a stale epoch the automatic commit before a revocation is repeated, and the revocation waits for it."""
    group = Group(components)
    for partition in ALL:
        group.fill(partition, b"x")
    member = joined(group, auto_commit_interval_ms=1_000_000)
    group.until(lambda: len(member.records) == 4, 10_000)
    group.run(1_000)
    group.brokers.script = fates_of(Api.OFFSET_COMMIT, *codes)
    second = joined(group)
    ends = [each.error for each in member.kinds(OffsetCommitEnded)]
    assert len(ends) > len(codes) and ends[len(codes)] == "", f"the commits ended with {ends}"
    assert sorted(member.owned + second.owned) == ALL


@consumer_property("CSM-OFC-04", offset=st.integers(0, 9))
def a_commit_with_a_stale_epoch_fails(components: Components, offset: int) -> None:
    """A commit of the application with a stale epoch fails, and the next one has the member's new epoch."""
    group = Group(components)
    member = joined(group, enable_auto_commit=False)
    group.brokers.script = fates_of(Api.OFFSET_COMMIT, STALE_EPOCH)
    error: ConsumerError | None = None
    try:
        member.do(member.core.commit_sync({("t", 0): OffsetAndMetadata(offset)}), 90_000)
    except ConsumerError as raised:
        error = raised
    assert isinstance(error, CommitFailedError), f"{error!r}"
    assert len(group.brokers.requests(Api.OFFSET_COMMIT)) == 1
