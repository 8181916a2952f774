"""Members of a group of KIP-848: joining, reconciling, leaving, and losing the membership."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clients.reference.consumer.coordinator.group_member import LEAVE_GROUP, REMAIN_IN_GROUP
from clients.reference.consumer.errors import CommitFailedError, ConsumerError
from clients.reference.consumer.membership.membership_manager import new_member_id
from clients.reference.telemetry.trace import OffsetCommitEnded
from harness.model.dice import Dice
from harness.wire.apis import Api

ALL = [0, 1, 2, 3]
BEAT = Api.CONSUMER_GROUP_HEARTBEAT


def joined(g, **settings):
    """Return a member that polls, after it has settled with those before it."""
    member = g.member(group_protocol="consumer", **settings)
    member.coordinator._take_epoch(0, f"member-{len(g.members)}")
    member.subscribe().polls()
    g.until(lambda: is_settled(g))
    g.run(100)
    return member


def is_settled(g):
    alive = [each for each in g.members if each.is_running]
    owned = sorted(index for each in alive for index in each.owned)
    return owned == ALL and all(each.owned and each.coordinator.state.told == "STABLE" for each in alive)


def beats(g):
    return [seen.body for seen in g.brokers.requests(BEAT)]


def epochs(g):
    return [body.member_epoch for body in beats(g)]


def errors_at(api, *codes):
    left = list(codes)
    return lambda seen: left.pop(0) if seen.api is api and left else None


def moves(member):
    return [each.after for each in member.trace if getattr(each, "machine", "") == "membership"]


def test_a_member_joins_with_epoch_zero_and_keeps_what_it_is_given(group):
    """CSM-NGP-01, -02: it joins and acknowledges at once, and then keeps the broker's interval."""
    g = group()
    a = joined(g)
    assert moves(a) == ["JOINING", "RECONCILING", "ACKNOWLEDGING", "STABLE"]
    assert a.told == [("assigned", ALL)] and a.core.group_metadata.generation_id == 2
    g.run(21_000)
    times = [seen.at_ms for seen in g.brokers.requests(BEAT)]
    assert epochs(g)[:3] == [0, 2, 2] and times[1] - times[0] < 100
    assert all(1_000 <= later - earlier <= 1_100 for earlier, later in pairwise(times[1:]))


def test_two_members_share_the_partitions_and_only_what_moves_is_told(group):
    g = group()
    a, b = joined(g), joined(g)
    assert sorted(a.owned + b.owned) == ALL and len(a.owned) == 2
    assert a.told == [("assigned", ALL), ("revoked", b.owned), ("assigned", [])]
    assert [each for each in b.told if each[1]] == [("assigned", b.owned)]


def test_the_order_is_commit_revoke_assign_acknowledge(group):
    """CSM-NGP-04."""
    g = group()
    g.fill(3, b"x", b"y")
    a = joined(g, auto_commit_interval_ms=1_000_000)
    g.run(1_000)
    before = len(g.brokers.seen)
    order = []
    a.listener.on_partitions_revoked = lambda given: order.append(("revoked", len(g.brokers.seen)))
    a.listener.on_partitions_assigned = lambda given: order.append(("assigned", len(g.brokers.seen)))
    b = joined(g)
    names = [
        ("commit" if seen.api is Api.OFFSET_COMMIT else "acknowledge", number)
        for number, seen in enumerate(g.brokers.seen)
        if number >= before
        and (
            seen.api is Api.OFFSET_COMMIT
            or (seen.api is BEAT and seen.body.member_id == "member-1" and seen.body.topic_partitions)
        )
    ]
    told = [name for name, _ in sorted(order + names, key=lambda each: each[1])]
    assert told[:4] == ["commit", "revoked", "assigned", "acknowledge"]
    assert b.owned and not set(a.owned) & set(b.owned)


def test_a_commit_before_a_revocation_is_repeated_with_the_newer_epoch(group):
    """CSM-OFC-04."""
    g = group()
    for partition in ALL:
        g.fill(partition, b"x")
    a = joined(g, auto_commit_interval_ms=1_000_000)
    g.run(1_000)
    g.brokers.script = errors_at(Api.OFFSET_COMMIT, 113, 14)
    joined(g)
    assert [each.error for each in a.kinds(OffsetCommitEnded)][:3] == [
        "CommitFailedException",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "",
    ]


def test_a_commit_of_the_application_with_a_stale_epoch_fails(group):
    """CSM-OFC-04."""
    g = group()
    g.fill(0, b"x")
    a = joined(g, enable_auto_commit=False)
    g.run(1_000)
    g.brokers.script = errors_at(Api.OFFSET_COMMIT, 113)
    with pytest.raises(CommitFailedError):
        a.do(a.core.commit_sync())
    a.do(a.core.commit_sync())
    body = g.brokers.requests(Api.OFFSET_COMMIT)[-1].body
    assert (body.generation_id_or_member_epoch, body.member_id) == (2, "member-1")


def test_a_stale_epoch_in_a_lookup_of_offsets_is_repeated(group):
    g = group()
    g.fill(0, b"x")
    g.brokers.script = errors_at(Api.OFFSET_FETCH, 113)
    a = joined(g)
    g.run(2_000)
    asked = g.brokers.requests(Api.OFFSET_FETCH)[-1].body.groups[0]
    assert (asked.member_id, asked.member_epoch) == ("member-1", 2)
    assert a.records == [(0, 0)] and a.errors == []


@pytest.mark.parametrize("code", [25, 110])
def test_a_fenced_member_gives_up_what_it_had_and_joins_again(group, code):
    """CSM-NGP-05."""
    g = group()
    a = joined(g)
    g.brokers.script = errors_at(BEAT, code)
    g.until(lambda: "FENCED" in moves(a))
    sent = len(beats(g))
    g.until(lambda: len(beats(g)) > sent)
    assert a.told == [("assigned", ALL), ("lost", ALL)]
    assert beats(g)[sent].member_epoch == 0 and beats(g)[sent].member_id == "member-1"


def test_a_fenced_member_is_silent_until_the_application_polls(group):
    """CSM-NGP-05."""
    g = group()
    a = joined(g)
    a.loop = lambda: None
    g.brokers.script = errors_at(BEAT, 110)
    g.until(lambda: "FENCED" in moves(a))
    sent = len(beats(g))
    g.run(60_000)
    assert len(beats(g)) == sent and a.told == [("assigned", ALL)]
    a.polls()
    g.until(lambda: is_settled(g))
    assert a.told == [("assigned", ALL), ("lost", ALL), ("assigned", ALL)]


@pytest.mark.parametrize("fate", ["hold", "close-after", "close-before"])
def test_a_lost_heartbeat_is_followed_by_a_complete_one_and_no_rebalance(group, fate):
    """CSM-NGP-03, -06."""
    g = group()
    a = joined(g, request_timeout_ms=3_000)
    sent, fates = len(beats(g)), [fate]
    g.brokers.script = lambda seen: fates.pop() if seen.api is BEAT and fates else None
    g.until(lambda: len(beats(g)) > sent + 1)
    lost, repeated = beats(g)[sent : sent + 2]
    assert lost.topic_partitions is None and repeated.topic_partitions
    assert repeated.member_epoch == 2 and list(repeated.subscribed_topic_names) == ["t"]
    g.run(20_000)
    assert a.told == [("assigned", ALL)] and moves(a)[-1] == "STABLE"


def test_one_heartbeat_is_outstanding_at_a_time(group):
    """CSM-NGP-02: with a request timeout of 30 s, a heartbeat without a response delays the next one."""
    g = group()
    joined(g)
    sent = len(beats(g))
    g.brokers.script = lambda seen: "hold" if seen.api is BEAT else None
    g.run(25_000)
    assert len(beats(g)) == sent + 1


def test_without_a_poll_the_member_leaves_and_joins_again_with_the_next_one(group):
    """CSM-NGP-07."""
    g = group()
    a = joined(g, max_poll_interval_ms=10_000)
    a.loop = lambda: None
    g.run(30_000)
    assert epochs(g)[-1] == -1 and moves(a)[-3:] == ["PREPARE_LEAVING", "LEAVING", "STALE"]
    assert a.told == [("assigned", ALL)]
    a.polls()
    g.until(lambda: is_settled(g))
    assert a.told == [("assigned", ALL), ("lost", ALL), ("assigned", ALL)]


@pytest.mark.parametrize("method", ["revoked", "assigned"])
def test_a_listener_that_raises_prevents_the_acknowledgement(group, method):
    """CSM-NGP-08: the poll raises, and the next ones call the listener again."""
    g = group()
    a = joined(g)
    a.listener.raises[method] = RuntimeError("no")
    joined(g)
    assert [error.code for error in a.errors] == ["rebalance-listener-failed"]
    told = [each for each, _ in a.told[1:]]
    assert told == (["revoked"] if method == "revoked" else ["revoked", "assigned"]) + (
        ["revoked", "assigned"] if method == "revoked" else ["assigned"]
    )


def test_what_the_assigned_callback_has_not_accepted_is_not_read(group):
    """CSM-NGP-04."""
    g = group()
    g.fill(0, b"x")
    a = g.member(group_protocol="consumer").subscribe()

    def refuses(given):
        raise RuntimeError("no")

    a.listener.on_partitions_assigned = refuses
    a.polls()
    g.run(20_000)
    assert a.records == [] and a.errors and set(moves(a)) == {"JOINING", "RECONCILING"}


@pytest.mark.parametrize(
    ("settings", "operation", "epoch"),
    [
        ({}, "default", -1),
        ({}, REMAIN_IN_GROUP, None),
        ({"group_instance_id": "i"}, "default", -2),
        ({"group_instance_id": "i"}, LEAVE_GROUP, -1),
    ],
)
def test_a_member_leaves_as_it_is_told(group, settings, operation, epoch):
    """CSM-NGP-01, KIP-1092."""
    g = group()
    a = joined(g, **settings)
    sent = len(beats(g))
    a.do(a.core.close(30_000, operation))
    assert epochs(g)[sent:] == ([] if epoch is None else [epoch])
    assert a.told == [("assigned", ALL), ("revoked", ALL)]


def test_a_static_member_that_comes_back_gets_its_partitions_without_a_rebalance(group):
    g = group()
    a, b = joined(g, group_instance_id="i"), joined(g, group_instance_id="k")
    before, others = a.owned, len(b.told)
    a.do(a.core.close(30_000))
    again = joined(g, group_instance_id="i")
    assert again.owned == before and len(b.told) == others


def test_a_member_that_unsubscribed_can_join_again(group):
    g = group()
    a = joined(g)
    a.loop = lambda: None
    a.do(a.core.unsubscribe())
    g.run(100)
    assert epochs(g)[-1] == -1 and moves(a)[-1] == "UNSUBSCRIBED"
    a.subscribe().polls()
    g.until(lambda: is_settled(g))
    assert a.told == [("assigned", ALL), ("revoked", ALL), ("assigned", ALL)]


def test_the_coordinator_matches_a_pattern(group):
    g = group()
    g.cluster.create_topic("other", 1)
    a = g.member(group_protocol="consumer")
    a.core.subscribe_pattern(re.compile("t|u"), a.listener)
    a.polls()
    g.until(lambda: is_settled(g))
    assert beats(g)[0].subscribed_topic_regex == "t|u" and a.owned == ALL
    g.cluster.create_topic("u", 1)
    g.until(lambda: ("u", 0) in a.core.assignment)
    assert a.errors == []


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (30, "GroupAuthorizationException"),
        (42, "INVALID_REQUEST"),
        (81, "GroupMaxSizeReachedException"),
        (112, "UNSUPPORTED_ASSIGNOR"),
        (111, "UNRELEASED_INSTANCE_ID"),
        (82, "FencedInstanceIdException"),
        (35, "UNSUPPORTED_VERSION"),
        (128, "INVALID_REGULAR_EXPRESSION"),
        (87, "KafkaException"),
    ],
)
def test_some_errors_end_the_membership(group, code, name):
    """CSM-NGP-09."""
    g = group()
    a = joined(g)
    g.brokers.script = errors_at(BEAT, code)
    g.until(lambda: len(a.errors) > 1)
    sent = len(beats(g))
    g.run(20_000)
    assert moves(a)[-1] == "FATAL" and len(beats(g)) == sent
    assert {error.name for error in a.errors if isinstance(error, ConsumerError)} == {name}
    assert a.told == [("assigned", ALL), ("lost", ALL)] and a.owned == []


@pytest.mark.parametrize("code", [14, 15, 16])
def test_an_error_of_the_coordinator_costs_nothing(group, code):
    g = group()
    a = joined(g)
    g.brokers.script = errors_at(BEAT, code)
    g.run(30_000)
    assert a.errors == [] and a.told == [("assigned", ALL)] and moves(a)[-1] == "STABLE"


def test_brokers_without_the_protocol_end_the_membership(group):
    """CSM-NGP-09."""
    g = group()
    g.brokers.offer(BEAT, 7, 9)
    a = g.member(group_protocol="consumer").subscribe().polls()
    g.run(5_000)
    assert {error.name for error in a.errors} == {"UnsupportedVersionException"} and moves(a)[-1] == "FATAL"


#: A member whose last heartbeat is never answered learns that the coordinator has removed it after
#: request.timeout.ms and some more heartbeats.
UNANSWERED_MS = 30_000 + 12_000


@settings(max_examples=8, deadline=None)
@example(["hold", None, None, None, None])
@given(
    st.lists(
        st.sampled_from([None, None, "hold", "close-after", "close-before", 14, 16, 25, 110]), max_size=12
    )
)
def test_whatever_happens_to_heartbeats_the_members_share_all_partitions_in_the_end(group, fates):
    g = group()
    left = list(fates)
    g.brokers.script = lambda seen: left.pop() if seen.api is BEAT and left else None
    members = [g.member(group_protocol="consumer") for _ in range(2)]
    for number, each in enumerate(members):
        each.coordinator._take_epoch(0, f"member-{number}")
        each.subscribe().polls()
    g.until(lambda: not left and is_settled(g))
    g.run(UNANSWERED_MS)
    assert is_settled(g) and all(each.errors == [] for each in members)


def test_ids_of_members_are_random_and_repeatable():
    ids = []
    for seed in (1, 1, 2):
        dice = Dice(seed, "member")
        ids.append(new_member_id(lambda dice=dice: dice.between(-1_000_000, 1_000_000) / 1_000_000))
    assert ids[0] == ids[1] != ids[2] and all(re.fullmatch(r"[0-9a-f-]{36}", each) for each in ids)
