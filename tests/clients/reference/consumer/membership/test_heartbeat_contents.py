"""What heartbeats say: everything at first and after a failure, then changes. The coordinator always knows it all."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from clients.reference.consumer.coordinator.generation import Generation
from clients.reference.consumer.membership.assignments import Assignment, grouped, resolved
from clients.reference.consumer.membership.heartbeat_contents import HeartbeatContents, Wishes

MEMBER = "m"
partitions = st.frozensets(st.tuples(st.builds(UUID, int=st.integers(1, 3)), st.integers(0, 3)), max_size=5)
assignments = st.builds(Assignment, st.integers(0, 5), partitions)
topics = st.frozensets(st.sampled_from("abc"), min_size=1)
wishes = st.one_of(
    st.builds(Wishes, topics, st.none(), st.just("uniform"), st.just(300_000), st.just("r")),
    st.builds(
        Wishes, st.just(frozenset()), st.sampled_from(["a.*", "b"]), st.just("uniform"), st.just(300_000)
    ),
)
steps = st.lists(st.tuples(wishes, assignments, st.booleans()), min_size=1, max_size=8)


def owned(body):
    return frozenset((each.topic_id, index) for each in body.topic_partitions for index in each.partitions)


@given(steps)
def test_a_coordinator_that_keeps_what_it_is_told_knows_what_the_member_wants_and_has(script):
    """CSM-NGP-03. It holds as well when a heartbeat is lost, because the next one says everything."""
    contents = HeartbeatContents("g", None)
    names, regex, has = frozenset(), None, None
    for epoch, (wants, assignment, is_lost) in enumerate(script):
        body = contents.next(Generation(epoch, MEMBER), wants, assignment)(1)
        assert (body.member_id, body.member_epoch, body.instance_id) == (MEMBER, epoch, None)
        if is_lost:
            contents.reset()
            continue
        if body.subscribed_topic_names is not None:
            names = frozenset(body.subscribed_topic_names)
        if body.subscribed_topic_regex is not None:
            regex = body.subscribed_topic_regex or None
        if body.topic_partitions is not None:
            has = owned(body)
        assert (names, regex, has) == (wants.topics, wants.regex, assignment.partitions)


@given(wishes, assignments)
def test_what_has_not_changed_is_said_once(wants, assignment):
    contents = HeartbeatContents("g", "i")
    first = contents.next(Generation(0, MEMBER), wants, assignment)(1)
    second = contents.next(Generation(4, MEMBER), wants, assignment)(1)
    assert first.rebalance_timeout == timedelta(milliseconds=300_000)
    assert (first.server_assignor, first.instance_id, second.instance_id) == ("uniform", "i", "i")
    assert second.rebalance_timeout == timedelta(milliseconds=-1)
    assert second.subscribed_topic_names is second.subscribed_topic_regex is None
    assert second.server_assignor is second.topic_partitions is second.rack_id is None
    contents.reset()
    assert contents.next(Generation(4, MEMBER), wants, assignment)(1).topic_partitions is not None


@given(partitions)
def test_an_equal_assignment_with_another_number_is_acknowledged_again(some):
    contents = HeartbeatContents("g", None)
    wants = Wishes(frozenset("a"), None, None, 1)
    contents.next(Generation(0, MEMBER), wants, Assignment(1, some))
    again = contents.next(Generation(1, MEMBER), wants, Assignment(3, some))(1)
    assert owned(again) == some


@given(partitions, st.sets(st.integers(1, 3)))
def test_partitions_of_topics_without_a_known_name_are_left_out(some, known):
    names = {UUID(int=number): f"t{number}" for number in known}
    by_id, by_name = resolved(some, names)
    assert by_id == {each for each in some if each[0] in names}
    assert by_name == {(names[topic_id], index) for topic_id, index in by_id}
    assert {(each, index) for each, indexes in grouped(some).items() for index in indexes} == some


def test_a_regular_expression_needs_a_version_that_has_the_field():
    contents = HeartbeatContents("g", None)
    plain, pattern = Wishes(frozenset("a"), None, None, 1), Wishes(frozenset(), "a", None, 1)
    assert contents.lowest_version(plain) is None and contents.lowest_version(pattern) == 1
    contents.next(Generation(0, MEMBER), pattern, Assignment())
    assert contents.lowest_version(plain) == 1
