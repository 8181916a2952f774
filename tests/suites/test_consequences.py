"""How faults of frames, brokers and connections show: in evidence that has it, and not in evidence that lacks it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace as restruct

from harness.rows import Fate, Frame, FrameKind
from suites.scenarios import heard, told, ways

T0_NS = 5_000_000_000_000


def other(story, at_ms, kind, *, conn=1, broker=1, **fields):
    """A row of the witness that is not about Produce."""
    story.frames.append(
        Frame(t_ns=T0_NS + int(at_ms * 1_000_000), lane=0, broker=broker, conn=conn, kind=kind, **fields)
    )


def stop_last(story):
    """The last frame never passed."""
    evidence = story.evidence()
    *passed, last = evidence.frames
    return evidence.__class__(
        **{field: getattr(evidence, field) for field in ("record", "history", "faults", "log")},
        frames=tuple(passed),
        stopped=(restruct(last, fate=Fate.STOPPED),),
    )


def test_a_request_without_an_answer_shows_in_the_next_one(story):
    tale = story()
    tale.request([0], partition=0, at_ms=10)
    tale.request([1], partition=1, at_ms=20)
    assert heard.unanswered(tale.evidence()).count == 0

    tale.deliver([0], partition=0, at_ms=3_100, conn=2)
    assert heard.unanswered(tale.evidence()).count == 1


def test_a_request_without_an_answer_shows_in_what_was_given_up(story):
    tale = story()
    tale.call(0)
    tale.request([0], partition=0, at_ms=10)
    tale.result(0, at_ms=50, outcome="info", error="_TIMED_OUT")
    assert heard.unanswered(tale.evidence()).count == 1

    tale.answer(0, 0, at_ms=11)
    assert heard.unanswered(tale.evidence()).count == 0


def test_a_request_that_never_passed_shows_in_the_next_one(story):
    tale = story()
    tale.request([0], partition=0, at_ms=5_000)
    assert heard.unasked(stop_last(tale)).count == 0

    early = story()
    early.request([0], partition=0, at_ms=10)
    stopped = stop_last(early).stopped
    again = story()
    again.deliver([0], partition=0, at_ms=3_100)
    evidence = again.evidence()
    assert heard.unasked(evidence).count == 0
    assert heard.unasked(evidence.__class__(**vars_of(evidence), stopped=stopped)).count == 1


def vars_of(evidence):
    return {field: getattr(evidence, field) for field in ("record", "history", "frames", "faults", "log")}


@pytest.mark.parametrize(("answered_ms", "count"), [(1_000, 0), (4_000, 1)])
def test_an_answer_beyond_the_timeout_is_overdue(story, answered_ms, count):
    tale = story()
    tale.request([0], partition=0, at_ms=10)
    tale.answer(0, 0, at_ms=answered_ms)
    assert heard.overdue(tale.evidence()).count == count


@pytest.mark.parametrize(("closed_ms", "count"), [(100, 0), (3_050, 1)])
def test_a_client_that_leaves_after_the_timeout_had_an_overdue_request(story, closed_ms, count):
    tale = story()
    tale.request([0], partition=0, at_ms=10)
    tale.close(1, at_ms=closed_ms)
    assert heard.overdue(tale.evidence()).count == count


@pytest.mark.parametrize(("more_at_ms", "count"), [(None, 0), (500, 1)])
def test_what_is_left_behind_is_more_than_the_late_one(story, more_at_ms, count):
    tale = story()
    tale.request([0], partition=0, at_ms=10)
    if more_at_ms:
        tale.request([1], partition=0, at_ms=more_at_ms)
    tale.close(1, at_ms=3_050)
    assert heard.left_behind(tale.evidence()).count == count


def test_who_leaves_in_time_leaves_nothing_late_behind(story):
    tale = story()
    tale.request([0], partition=0, at_ms=10)
    tale.request([1], partition=0, at_ms=20)
    tale.close(1, at_ms=100)
    assert heard.left_behind(tale.evidence()).count == 0


@pytest.mark.parametrize(("asks_again", "count"), [(True, 1), (False, 0)])
def test_a_ghost_comes_when_its_client_has_gone_elsewhere(story, asks_again, count):
    tale = story()
    tale.close(1, at_ms=3_000)
    tale.request([0], partition=0, at_ms=4_000, conn=1)
    tale.deliver([0], partition=0, at_ms=3_100, conn=2 if asks_again else 1)
    assert heard.ghosts(tale.evidence()).count == count


def test_the_last_request_before_a_close_is_no_ghost(story):
    tale = story()
    tale.deliver([0], partition=0, at_ms=10, conn=1)
    tale.close(1, at_ms=20)
    tale.deliver([1], partition=0, at_ms=100, conn=2)
    assert heard.ghosts(tale.evidence()).count == 0


@pytest.mark.parametrize(("order", "count"), [((1, 2), 0), ((2, 1), 1)])
def test_answers_out_of_their_turn(story, order, count):
    tale = story()
    tale.request([0], partition=0, at_ms=10)
    tale.request([1], partition=0, at_ms=11)
    for at_ms, correlation in enumerate(order, 20):
        tale.correlation = correlation
        tale.answer(0, correlation, at_ms=at_ms)
    assert heard.out_of_turn(tale.evidence()).count == count


def test_an_answer_that_passed_twice_is_marked(story):
    tale = story()
    tale.deliver([0], partition=0, at_ms=10)
    assert heard.doubled(tale.evidence()).count == 0
    tale.frames[-1] = restruct(tale.frames[-1], fate=Fate.MARKED)
    assert heard.doubled(tale.evidence()).count == 1


def test_an_answer_that_nobody_asked_for(story):
    tale = story()
    tale.deliver([0], partition=0, at_ms=10)
    assert heard.from_nobody(tale.evidence()).count == 0
    tale.frames[-1] = restruct(tale.frames[-1], correlation_id=999)
    assert heard.from_nobody(tale.evidence()).count == 1


def test_an_answer_that_is_long_in_passing_came_in_pieces(story):
    tale = story()
    tale.deliver([0], partition=0, at_ms=500)
    assert heard.in_pieces(tale.evidence()).count == 0
    tale.frames[-1] = restruct(tale.frames[-1], came_ns=tale.frames[-1].t_ns - 90_000_000)
    assert heard.in_pieces(tale.evidence()).count == 1


@pytest.mark.parametrize(
    ("shows", "code"),
    [
        (told.over_appends, 7),
        (told.too_few_replicas, 19),
        (told.out_of_order, 45),
        (told.unknown_producer, 59),
        (told.sequence_refused, 59),
        (told.no_topic, 100),
        (told.not_leader, 6),
    ],
)
@pytest.mark.parametrize("acts", ["asks again", "gives up", "never heard"])
def test_an_error_counts_where_the_client_acted_on_it(story, shows, code, acts):
    tale = story()
    tale.call(0)
    tale.request([0], partition=0, at_ms=10)
    tale.answer(0, -1, at_ms=11, error_code=code)
    if acts == "asks again":
        tale.result(0, at_ms=120, offset=tale.deliver([0], partition=0, at_ms=111))
    else:
        tale.result(0, at_ms=12, outcome="fail" if acts == "gives up" else "ok")
    assert shows(tale.evidence()).count == (acts != "never heard")


def test_an_error_of_another_kind_is_another_situation(story):
    tale = story()
    tale.request([0], partition=0, at_ms=10)
    tale.answer(0, -1, at_ms=11, error_code=2)
    tale.deliver([0], partition=0, at_ms=111)
    for shows in (
        told.over_appends,
        told.out_of_order,
        told.unknown_producer,
        told.not_leader,
        told.too_large,
    ):
        assert shows(tale.evidence()).count == 0


@pytest.mark.parametrize(("later", "count"), [([0], 1), ([0, 1, 2], 0)])
def test_a_batch_too_large_shows_in_a_smaller_one(story, later, count):
    tale = story()
    tale.request([0, 1], partition=0, at_ms=10)
    tale.answer(0, -1, at_ms=11, error_code=10)
    tale.deliver(later, partition=0, at_ms=20)
    assert told.too_large(tale.evidence()).count == count


def test_a_batch_too_large_shows_in_failed_records(story):
    tale = story()
    tale.call(0, 1)
    tale.request([0, 1], partition=0, at_ms=10)
    tale.answer(0, -1, at_ms=11, error_code=10)
    for n in (0, 1):
        tale.result(n, at_ms=12, outcome="fail", error="MESSAGE_TOO_LARGE")
    assert told.too_large(tale.evidence()).count == 1


def test_a_throttle_time_is_in_the_answer(story):
    tale = story()
    tale.deliver([0], partition=0, at_ms=10)
    assert told.throttled(tale.evidence()).count == 0
    tale.frames[-1] = restruct(tale.frames[-1], throttle_ms=300)
    assert told.throttled(tale.evidence()).count == 1


@pytest.mark.parametrize(("then", "count"), [("lower", 1), ("leaves", 1), ("nothing", 0)])
def test_an_unsupported_version_shows_in_a_lower_one(story, then, count):
    tale = story()
    other(tale, 1, FrameKind.REQUEST, api="ApiVersions", api_version=4)
    other(tale, 2, FrameKind.RESPONSE, api="ApiVersions", api_version=4, error_codes=(35,))
    if then == "lower":
        other(tale, 3, FrameKind.REQUEST, api="ApiVersions", api_version=0)
    elif then == "leaves":
        tale.close(1, at_ms=3)
    assert told.asked_lower(tale.evidence()).count == count


@pytest.mark.parametrize(("then", "count"), [("asks", 1), ("gives up", 1), ("nothing", 0)])
def test_an_identity_that_is_refused_is_asked_for_again(story, then, count):
    tale = story()
    other(tale, 1, FrameKind.REQUEST, api="InitProducerId")
    other(tale, 2, FrameKind.RESPONSE, api="InitProducerId", error_codes=(14,))
    if then == "asks":
        other(tale, 102, FrameKind.REQUEST, api="InitProducerId")
    elif then == "gives up":
        tale.call(0)
    assert told.identity_refused(tale.evidence()).count == count


@pytest.mark.parametrize(("conn", "closed_ms", "count"), [(2, 1_100, 1), (1, 1_100, 0), (2, 5_000, 0)])
def test_another_way_is_another_connection_after_one_that_ended_in_a_fault(story, conn, closed_ms, count):
    tale = story()
    tale.fault("reset", 1_000, 1_200)
    tale.deliver([0], partition=0, at_ms=10)
    tale.close(1, at_ms=closed_ms)
    tale.deliver([1], partition=0, at_ms=5_500, conn=conn)
    assert ways.another_way(tale.evidence()).count == count


@pytest.mark.parametrize(("broker", "count"), [(1, 0), (2, 1)])
def test_another_leader_is_another_broker(story, broker, count):
    tale = story()
    tale.deliver([0], partition=0, at_ms=10)
    tale.request([1], partition=0, at_ms=20, conn=2)
    tale.frames[-1] = restruct(tale.frames[-1], broker=broker)
    assert ways.other_leaders(tale.evidence()).count == count


@pytest.mark.parametrize(("answered", "count"), [(True, 0), (False, 1)])
def test_a_connection_in_vain_has_a_request_and_no_answer(story, answered, count):
    tale = story()
    other(tale, 1, FrameKind.REQUEST, api="ApiVersions")
    if answered:
        other(tale, 2, FrameKind.RESPONSE, api="ApiVersions")
    tale.close(1, at_ms=3_000)
    assert ways.in_vain(tale.evidence()).count == count


@pytest.mark.parametrize(("conn", "count"), [(1, 0), (2, 1)])
def test_a_torn_request_is_followed_by_a_whole_one_elsewhere(story, conn, count):
    tale = story()
    other(tale, 10, FrameKind.OPAQUE, size_bytes=3)
    tale.deliver([0], partition=0, at_ms=100, conn=conn)
    assert ways.torn_requests(tale.evidence()).count == count


@pytest.mark.parametrize(("partition", "count"), [(1, 0), (2, 1)])
def test_a_new_partition_is_beyond_the_first_ones(story, partition, count):
    tale = story()
    tale.deliver([0], partition=partition, at_ms=10)
    assert ways.new_partitions(tale.evidence()).count == count


@pytest.mark.parametrize(("at_ms", "base", "count"), [(2_500, 4, 1), (2_500, 0, 0), (1_100, 4, 0)])
def test_who_goes_on_unknown_goes_on_with_the_next_sequence(story, at_ms, base, count):
    tale = story()
    tale.fault("producer_id_expiry", 1_000, 3_000)
    tale.request([0], partition=0, at_ms=at_ms, sequence=(7, 0, base))
    tale.answer(0, 0, at_ms=at_ms + 1)
    assert ways.went_on_unknown(tale.evidence()).count == count


def test_a_log_that_was_trimmed_begins_later(story):
    tale = story()
    tale.append([0, 1], partition=0)
    assert ways.trimmed(tale.evidence()).count == 0
    tale.log.pop(0)
    assert ways.trimmed(tale.evidence()).count == 1
