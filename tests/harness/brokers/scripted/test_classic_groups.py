"""Classic groups: joining, assigning, staying, leaving, static members, timeouts, moves of the coordinator."""

from __future__ import annotations

import pytest

from harness.brokers.scripted.groups.classic_group import ClassicState
from harness.wire.apis import Api
from harness.wire.messages import message_class
from tests.harness.brokers.scripted.groups import MS, Member, settle, stable

NOT_COORDINATOR, LOADING, ILLEGAL_GENERATION, UNKNOWN_MEMBER, REBALANCING = 16, 14, 22, 25, 27
MEMBER_ID_REQUIRED, FULL, FENCED = 79, 81, 82


@pytest.mark.parametrize("version", range(10))
def test_one_member_in_every_version_of_join_group(client, version):
    it = client()
    member = Member(it, version=version)
    call = member.enter()
    it.cluster.wake(0)
    body = member.took(call)
    assert (body.error_code, body.generation_id, body.leader) == (0, 1, member.member_id)
    assert [(each.member_id, each.metadata) for each in body.members] == [(member.member_id, b"mrange")]
    settle([member], [call])
    assert member.beat() == 0


def test_a_new_member_gets_its_id_first(client):
    it = client()
    member = Member(it)
    body = member.join().body
    assert body.error_code == MEMBER_ID_REQUIRED and body.member_id.startswith("client-")
    it.cluster.settings.group_initial_rebalance_delay_ms = 1
    assert Member(it, version=3).join().body is None


def test_a_second_member_begins_a_rebalance(client):
    it = client()
    [first] = stable(it, 1)
    second = Member(it)
    joins = second.enter()
    assert joins.body is None and first.beat() == REBALANCING
    again = first.join()
    settle([first, second], [again, joins])
    assert it.cluster.group("g").generation_id == 2
    assert (first.beat(), second.beat()) == (0, 0)


def test_followers_wait_for_the_leaders_assignment(client):
    it = client()
    members = stable(it, 2)
    leader = next(each for each in members if it.cluster.group("g").leader_id == each.member_id)
    follower = next(each for each in members if each is not leader)
    calls = {leader: leader.join()}
    calls[follower] = follower.join()
    for each in members:
        each.took(calls[each])
    waits = follower.sync()
    assert waits.body is None
    leader.sync({follower.member_id: b"x"})
    assert waits.body.assignment == b"x"


def test_the_first_rebalance_waits_for_further_members(client):
    it = client()
    it.cluster.settings.group_initial_rebalance_delay_ms = 3_000
    calls = [Member(it).enter()]
    it.now_ns = 2_000 * MS
    calls.append(Member(it).enter())
    it.cluster.wake(5_999 * MS)
    assert [call.body for call in calls] == [None, None]
    it.cluster.wake(6_000 * MS)
    assert [call.body.generation_id for call in calls] == [1, 1]


def test_a_member_that_does_not_rejoin_is_removed(client):
    it = client()
    first, second = stable(it, 2)
    leader = it.cluster.group("g").leader_id
    [stays] = [each for each in (first, second) if each.member_id == leader]
    call = stays.join(session_ms=60_000)
    it.now_ns = 9_000 * MS
    gone = second if stays is first else first
    assert gone.beat() == REBALANCING
    it.now_ns = 18_000 * MS
    assert gone.beat() == REBALANCING
    it.cluster.wake(27_000 * MS)
    assert call.body is None
    it.now_ns = 27_000 * MS
    gone.beat()
    it.cluster.wake(30_010 * MS)
    assert call.body.generation_id == 2 and len(call.body.members) == 1
    assert gone.beat() == UNKNOWN_MEMBER


def test_a_silent_member_is_removed_after_its_session(client):
    it = client()
    [member] = stable(it, 1)
    it.now_ns = 9_999 * MS
    assert member.beat() == 0
    it.cluster.wake(20_000 * MS)
    assert it.cluster.group("g").state is ClassicState.EMPTY
    it.now_ns = 20_000 * MS
    assert member.beat() == UNKNOWN_MEMBER


def test_a_member_that_does_not_sync_is_removed(client):
    it = client()
    [member] = stable(it, 1)
    member.took(member.join(session_ms=60_000))
    it.cluster.wake(30_010 * MS)
    assert it.cluster.group("g").state is ClassicState.EMPTY


def test_a_member_that_leaves_makes_room_at_once(client):
    it = client()
    first, second = stable(it, 2)
    assert second.leave().members[0].error_code == 0
    assert first.beat() == REBALANCING
    settle([first], [first.join()])
    assert first.leave(version=1).error_code == 0
    assert it.cluster.group("g").state is ClassicState.EMPTY
    assert first.leave().members[0].error_code == UNKNOWN_MEMBER


def test_a_member_that_is_removed_while_its_sync_waits_gets_no_answer(client):
    """An administrator removes it by a request of its own. As in ``ClassicGroup.remove``, its SyncGroup is forgotten.

    The others learn at once that they have to join again.
    """
    it = client()
    members = stable(it, 3)
    leader = next(each for each in members if it.cluster.group("g").leader_id == each.member_id)
    removed, stays = [each for each in members if each is not leader]
    joins = {each: each.join() for each in (leader, removed, stays)}
    for member, call in joins.items():
        member.took(call)
    forgotten, waits = removed.sync(), stays.sync()
    assert removed.leave().members[0].error_code == 0
    assert (forgotten.body, waits.body.error_code) == (None, REBALANCING)
    assert (leader.beat(), stays.beat(), removed.beat()) == (REBALANCING, REBALANCING, UNKNOWN_MEMBER)
    settle([leader, stays], [leader.join(), stays.join()])
    it.now_ns += 301_000 * MS
    it.cluster.wake(it.now_ns)
    assert forgotten.body is None


def test_a_static_member_comes_back_without_a_rebalance(client):
    it = client()
    old = Member(it, "i")
    call = old.enter()
    it.cluster.wake(0)
    settle([old], [call])
    new = Member(it, "i")
    body = new.took(new.join())
    assert (body.generation_id, body.skip_assignment, len(body.members)) == (1, True, 1)
    assert new.sync().body.assignment == old.member_id.encode()
    assert (old.beat(), new.beat()) == (FENCED, 0)
    assert old.commit(1) == FENCED


def test_an_older_static_leader_is_not_told_that_it_leads(client):
    it = client()
    old = Member(it, "i", version=8)
    call = old.enter()
    it.cluster.wake(0)
    settle([old], [call])
    body = Member(it, "i", version=8).join().body
    assert (body.leader, body.members) == (old.member_id, ())


def test_the_protocol_with_the_most_votes_is_chosen(client):
    it = client()
    it.cluster.settings.group_initial_rebalance_delay_ms = 1
    members = [Member(it) for _ in range(3)]
    calls = [members[0].enter("a", "b", "c")]
    calls += [member.enter("c", "b") for member in members[1:]]
    it.cluster.wake(9 * MS)
    assert [call.body.protocol_name for call in calls] == ["c", "c", "c"]
    assert Member(it).enter("a").body.error_code == 23


def test_of_two_protocols_with_as_many_votes_the_hash_map_decides(client):
    it = client()
    it.cluster.settings.group_initial_rebalance_delay_ms = 1
    members = [Member(it), Member(it)]
    calls = [
        members[0].enter("roundrobin", "range"),
        members[1].enter("range", "roundrobin"),
    ]
    it.cluster.wake(9 * MS)
    assert [call.body.protocol_name for call in calls] == ["range", "range"]


def test_a_group_without_members_supports_every_protocol(client):
    it = client()
    [first] = stable(it, 1)
    second = Member(it)
    second.member_id = second.join().body.member_id
    first.join("range", "other")
    first.leave()
    assert it.cluster.group("g").state is ClassicState.PREPARING
    joins = second.join("sticky")
    assert (joins.body.error_code, joins.body.protocol_name) == (0, "sticky")


@pytest.mark.parametrize("lacks", ["protocol_type", "protocol_name"])
def test_from_version_5_on_a_sync_names_its_protocol(client, lacks):
    it = client()
    [member] = stable(it, 1)
    assert member.sync(**{lacks: None}).body.error_code == 23
    assert member.sync().body.error_code == 0


def test_a_refused_join_has_no_protocol(client):
    assert Member(client()).join().body.protocol_name is None


def test_kafka_fails_on_a_pending_member_that_turns_out_to_be_static(client):
    it = client()
    member = Member(it)
    member.member_id = member.join().body.member_id
    body = member.join(group_instance_id="i").body
    assert (body.error_code, body.member_id) == (-1, "")


def test_a_rebalancing_group_still_has_its_assignments(client):
    it = client()
    [member] = stable(it, 1)
    Member(it).enter()
    kind = message_class(Api.DESCRIBE_GROUPS, 5, "request")
    [group] = it.send(1, kind(groups=("g",), include_authorized_operations=False)).body.groups
    described = next(each for each in group.members if each.member_id == member.member_id)
    assert (group.group_state, described.member_assignment) == (
        "PreparingRebalance",
        member.member_id.encode(),
    )
    assert described.member_metadata == b""


def test_a_full_group_takes_nobody_in(client):
    it = client()
    it.cluster.settings.group_max_size = 1
    stable(it, 1)
    assert Member(it).enter().body.error_code == FULL


@pytest.mark.parametrize(("session_ms", "code"), [(5_999, 26), (1_800_001, 26)])
def test_session_timeouts_have_limits(client, session_ms, code):
    assert Member(client()).join(session_ms=session_ms).body.error_code == code


def test_outdated_members_are_refused(client):
    it = client()
    [member] = stable(it, 1)
    assert member.beat(generation_id=0) == ILLEGAL_GENERATION
    assert member.beat(member_id="x") == UNKNOWN_MEMBER
    assert member.sync(generation_id=9).body.error_code == ILLEGAL_GENERATION
    assert member.sync(protocol_name="other").body.error_code == 23
    assert member.join(group_id="").body.error_code == 24


def test_another_coordinator_continues_from_what_was_stored(client):
    it = client(nodes=3)
    first = it.cluster.coordinator("g")
    members = stable(it, 2, node_id=first)
    members[0].commit(7)
    it.cluster.kill(first, 0)
    second = it.cluster.coordinator("g")
    for member in members:
        member.node_id = next(node for node in (1, 2, 3) if node not in (first, second))
        assert member.beat() == NOT_COORDINATOR
        member.node_id = second
        assert member.beat() == 0
    assert members[0].fetch().committed_offset == 7
    it.cluster.wake(10_010 * MS)
    assert it.cluster.group("g").state is ClassicState.EMPTY


def test_requests_that_wait_are_refused_when_the_coordinator_moves(client):
    it = client(nodes=3)
    node = it.cluster.coordinator("g")
    stable(it, 1, node_id=node)
    late = Member(it, node_id=node).enter()
    it.cluster.move_coordinators()
    it.cluster.wake(0)
    assert late.body.error_code == NOT_COORDINATOR
    assert it.cluster.coordinator("g") != node


def test_a_coordinator_that_loads_believes_heartbeats_only(client):
    it = client()
    [member] = stable(it, 1)
    it.cluster.settings.coordinator_load_in_progress = True
    assert member.beat() == 0
    assert [member.commit(1), member.join().body.error_code, member.fetch().error_code] == [LOADING] * 3


@pytest.mark.parametrize("version", range(2, 11))
def test_offsets_are_stored_and_returned(client, version):
    it = client()
    [member] = stable(it, 1)
    assert member.commit(42, version=version, metadata="note") == 0
    found = member.fetch(version=min(version, 10))
    assert (found.committed_offset, found.metadata) == (42, "note")
    assert found.error_code == 0


@pytest.mark.parametrize("version", range(1, 11))
def test_every_version_of_offset_fetch(client, version):
    it = client()
    assert Member(it).fetch(version=version).committed_offset == -1
    it.cluster.commit("g", "t", 0, 5)
    assert Member(it).fetch(version=version).committed_offset == 5
    if version >= 2:
        assert Member(it).fetch(version=version, every=True).committed_offset == 5


def test_only_members_of_the_generation_commit(client):
    it = client()
    outside = Member(it)
    assert outside.commit(1) == 0
    [member] = stable(it, 1)
    assert outside.commit(2) == UNKNOWN_MEMBER
    assert member.commit(3, generation_id_or_member_epoch=0) == ILLEGAL_GENERATION
    assert Member(it).commit(1, group_id="new", generation_id_or_member_epoch=1) == 69
    assert (
        Member(it).commit(1, group_id="new", generation_id_or_member_epoch=1, version=8) == ILLEGAL_GENERATION
    )
    assert member.fetch().committed_offset == 1
    Member(it).enter()
    assert member.commit(4) == 0
    member.took(member.join())
    assert member.commit(5) == REBALANCING


def test_commits_are_checked(client):
    it = client()
    assert Member(it).commit(1, metadata="x" * 4_097) == 12
    assert Member(it).commit(1, partition=9) == 3
    it.cluster.set_unstable("g", [("t", 0)])
    assert Member(it).fetch(stable=True).error_code == 88
    assert Member(it).fetch().error_code == 0


def test_offsets_of_an_empty_group_expire(client):
    it = client()
    [member] = stable(it, 1)
    member.commit(5)
    it.now_ns = 1_000 * MS
    member.leave()
    retention_ms = it.cluster.settings.offsets_retention_ms
    it.now_ns = (retention_ms + 999) * MS
    assert member.fetch().committed_offset == 5
    it.now_ns += MS
    assert member.fetch().committed_offset == -1


def test_an_offset_of_an_administrator_is_kept_for_a_whole_retention(client):
    it = client()
    it.now_ns = 1_000 * MS
    it.cluster.wake(it.now_ns)
    it.cluster.commit("g", "t", 0, 5)
    it.now_ns = (it.cluster.settings.offsets_retention_ms + 999) * MS
    assert Member(it).fetch().committed_offset == 5
    it.now_ns += MS
    assert Member(it).fetch().committed_offset == -1


@pytest.mark.parametrize(
    ("api", "ask"),
    [
        (Api.JOIN_GROUP, lambda member: member.join().body.error_code),
        (Api.SYNC_GROUP, lambda member: member.sync().body.error_code),
        (Api.HEARTBEAT, lambda member: member.beat()),
        (Api.LEAVE_GROUP, lambda member: member.leave().error_code),
        (Api.OFFSET_COMMIT, lambda member: member.commit(1)),
        (Api.OFFSET_FETCH, lambda member: member.fetch().error_code),
    ],
)
def test_errors_are_injected_at_the_nth_request(client, api, ask):
    it = client()
    [member] = stable(it, 1)
    it.cluster.inject_error(api, NOT_COORDINATOR, 1, skip=1)
    codes = [ask(member), ask(member)]
    assert codes[0] != NOT_COORDINATOR and codes[1] == NOT_COORDINATOR


def test_groups_are_listed_and_described(client):
    it = client()
    [member] = stable(it, 1)
    kind = message_class(Api.LIST_GROUPS, 5, "request")
    [listed] = it.send(1, kind(states_filter=("stable",), types_filter=())).body.groups
    assert (listed.group_id, listed.group_state, listed.group_type) == ("g", "Stable", "Classic")
    kind = message_class(Api.DESCRIBE_GROUPS, 6, "request")
    known, unknown = it.send(1, kind(groups=("g", "h"), include_authorized_operations=False)).body.groups
    assert (known.group_state, known.protocol_data) == ("Stable", "range")
    assert [each.member_id for each in known.members] == [member.member_id]
    assert (unknown.error_code, unknown.group_state) == (69, "Dead")
