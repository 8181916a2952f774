"""Visible effects of frame, broker and connection faults, found only in evidence that has them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec.structs import replace as restruct

from harness.model.rows import Disposition, Frame, FrameKind
from harness.plugins import registry
from suites.scenarios.effects import broker_errors, connections, consequence, fault_windows, responses

T0_NS = 5_000_000_000_000
NS_PER_MS = 1_000_000
#: The effect of each scenario's fault, except for the scenario without one.
CONSEQUENCES = {scenario.consequence for scenario in registry.table("scenarios").values()} - {
    consequence.traffic
}


def shown(evidence):
    """Return the visible consequences."""
    return {shows.__name__ for shows in CONSEQUENCES if shows(evidence).count}


@pytest.fixture
def beset(story):
    """Return the builder of stories with a fault throughout.

    At the end, the same stories without it must show nothing.
    """
    tales = []

    def begin():
        tales.append(story())
        tales[-1].fault("broker_pause", 0, 60_000)
        return tales[-1]

    yield begin
    for tale in tales:
        tale.faults.clear()
        assert shown(tale.evidence()) == set()


@pytest.mark.parametrize(
    ("at_ms", "during", "begun"),
    [(999, False, False), (1_000, True, True), (2_500, True, True), (2_501, False, True)],
    ids=["before", "at the beginning", "at the end of the grace", "after the grace"],
)
def test_time_is_in_a_fault_or_shortly_after(story, at_ms, during, begun):
    tale, at_ns = story(), T0_NS + at_ms * NS_PER_MS
    assert not fault_windows.during(tale.evidence(), at_ns) and not fault_windows.begun(
        tale.evidence(), at_ns
    )

    tale.fault("broker_pause", None)
    assert not fault_windows.during(tale.evidence(), at_ns) and not fault_windows.begun(
        tale.evidence(), at_ns
    )

    tale.fault("broker_pause", 1_000, 2_000)
    assert fault_windows.during(tale.evidence(), at_ns) == during
    assert fault_windows.begun(tale.evidence(), at_ns) == begun


@pytest.mark.parametrize(
    ("begin_ms", "end_ms", "meets"),
    [(0, 999, False), (0, 1_000, True), (0, 9_000, True), (2_500, 9_000, True), (2_501, 9_000, False)],
)
def test_wait_overlaps_a_fault_within_it_or_around_it(story, begin_ms, end_ms, meets):
    tale = story()
    tale.fault("broker_pause", 1_000, 2_000)
    span_ns = T0_NS + begin_ms * NS_PER_MS, T0_NS + end_ms * NS_PER_MS
    assert fault_windows.meets(tale.evidence(), *span_ns) == meets


def other(story, at_ms, kind, *, conn=1, broker=1, **fields):
    """Return a witness row that is not about Produce."""
    story.frames.append(
        Frame(t_ns=T0_NS + int(at_ms * 1_000_000), lane=0, broker=broker, conn=conn, kind=kind, **fields)
    )


def stop_last(story):
    """Stop the last frame, which never passes."""
    evidence = story.evidence()
    *passed, last = evidence.frames
    return replace(
        evidence, frames=tuple(passed), blocked_frames=(restruct(last, disposition=Disposition.BLOCKED),)
    )


def test_request_without_a_response_shows_in_the_next_one(beset):
    tale = beset()
    tale.request([0], partition=0, at_ms=10)
    tale.request([1], partition=1, at_ms=20)
    assert responses.unanswered(tale.evidence()).count == 0

    tale.deliver([0], partition=0, at_ms=3_100, conn=2)
    assert responses.unanswered(tale.evidence()).count == 1


def test_request_without_a_response_shows_in_given_up_records(beset):
    tale = beset()
    tale.call(0)
    tale.request([0], partition=0, at_ms=10)
    tale.result(0, at_ms=50, outcome="info", error="_TIMED_OUT")
    assert responses.unanswered(tale.evidence()).count == 1

    tale.answer(0, 0, at_ms=11)
    assert responses.unanswered(tale.evidence()).count == 0


def test_request_that_never_passed_shows_in_the_next_one(beset):
    tale = beset()
    tale.request([0], partition=0, at_ms=5_000)
    assert responses.unasked(stop_last(tale)).count == 0

    early = beset()
    early.request([0], partition=0, at_ms=10)
    stopped = stop_last(early).blocked_frames
    again = beset()
    again.deliver([0], partition=0, at_ms=3_100)
    evidence = again.evidence()
    assert responses.unasked(evidence).count == 0
    assert responses.unasked(replace(evidence, blocked_frames=stopped)).count == 1
    assert responses.unasked(replace(evidence, blocked_frames=stopped, faults=())).count == 0


@pytest.mark.parametrize(("answered_ms", "count"), [(1_000, 0), (4_000, 1)])
def test_response_after_the_timeout_is_overdue(beset, answered_ms, count):
    tale = beset()
    tale.request([0], partition=0, at_ms=10)
    tale.answer(0, 0, at_ms=answered_ms)
    assert responses.overdue(tale.evidence()).count == count


@pytest.mark.parametrize(("closed_ms", "count"), [(100, 0), (3_050, 1)])
def test_disconnect_after_the_timeout_shows_an_overdue_request(beset, closed_ms, count):
    tale = beset()
    tale.request([0], partition=0, at_ms=10)
    tale.close(1, at_ms=closed_ms)
    assert responses.overdue(tale.evidence()).count == count


@pytest.mark.parametrize(("more_at_ms", "count"), [(None, 0), (500, 1)])
def test_all_waiting_requests_are_abandoned_not_only_the_late_one(beset, more_at_ms, count):
    tale = beset()
    tale.request([0], partition=0, at_ms=10)
    if more_at_ms:
        tale.request([1], partition=0, at_ms=more_at_ms)
    tale.close(1, at_ms=3_050)
    assert responses.left_behind(tale.evidence()).count == count


def test_disconnect_in_time_abandons_nothing_late(beset):
    tale = beset()
    tale.request([0], partition=0, at_ms=10)
    tale.request([1], partition=0, at_ms=20)
    tale.close(1, at_ms=100)
    assert responses.left_behind(tale.evidence()).count == 0


@pytest.mark.parametrize(("asks_again", "count"), [(True, 1), (False, 0)])
def test_ghost_request_arrives_after_the_client_has_reconnected(beset, asks_again, count):
    tale = beset()
    tale.close(1, at_ms=3_000)
    tale.request([0], partition=0, at_ms=4_000, conn=1)
    tale.deliver([0], partition=0, at_ms=3_100, conn=2 if asks_again else 1)
    assert responses.delayed_past_disconnect(tale.evidence()).count == count


def test_last_request_before_a_close_is_not_a_ghost(beset):
    tale = beset()
    tale.deliver([0], partition=0, at_ms=10, conn=1)
    tale.close(1, at_ms=20)
    tale.deliver([1], partition=0, at_ms=100, conn=2)
    assert responses.delayed_past_disconnect(tale.evidence()).count == 0


@pytest.mark.parametrize(("order", "count"), [((1, 2), 0), ((2, 1), 1)])
def test_responses_out_of_order_are_seen(beset, order, count):
    tale = beset()
    tale.request([0], partition=0, at_ms=10)
    tale.request([1], partition=0, at_ms=11)
    for at_ms, correlation in enumerate(order, 20):
        tale.correlation = correlation
        tale.answer(0, correlation, at_ms=at_ms)
    assert responses.out_of_turn(tale.evidence()).count == count


def test_duplicated_response_is_marked(beset):
    tale = beset()
    tale.deliver([0], partition=0, at_ms=10)
    assert responses.doubled(tale.evidence()).count == 0
    tale.frames[-1] = restruct(tale.frames[-1], disposition=Disposition.ANNOTATED)
    assert responses.doubled(tale.evidence()).count == 1


def test_response_without_a_request_is_seen(beset):
    tale = beset()
    tale.deliver([0], partition=0, at_ms=10)
    assert responses.from_nobody(tale.evidence()).count == 0
    tale.frames[-1] = restruct(tale.frames[-1], correlation_id=999)
    assert responses.from_nobody(tale.evidence()).count == 1


def test_slow_response_arrived_in_slices(beset):
    tale = beset()
    tale.deliver([0], partition=0, at_ms=500)
    assert responses.in_pieces(tale.evidence()).count == 0
    tale.frames[-1] = restruct(tale.frames[-1], received_ns=tale.frames[-1].t_ns - 90_000_000)
    assert responses.in_pieces(tale.evidence()).count == 1


@pytest.mark.parametrize(
    ("shows", "code"),
    [
        (broker_errors.over_appends, 7),
        (broker_errors.too_few_replicas, 19),
        (broker_errors.out_of_order, 45),
        (broker_errors.unknown_producer, 59),
        (broker_errors.sequence_refused, 59),
        (broker_errors.no_topic, 100),
        (broker_errors.not_leader, 6),
    ],
)
@pytest.mark.parametrize("acts", ["asks again", "gives up", "never heard"])
def test_error_counts_if_the_client_acted_on_it(beset, shows, code, acts):
    tale = beset()
    tale.call(0)
    tale.request([0], partition=0, at_ms=10)
    tale.answer(0, -1, at_ms=11, error_code=code)
    if acts == "asks again":
        tale.result(0, at_ms=120, offset=tale.deliver([0], partition=0, at_ms=111))
    else:
        tale.result(0, at_ms=12, outcome="fail" if acts == "gives up" else "ok")
    assert shows(tale.evidence()).count == (acts != "never heard")


def test_other_error_is_another_situation(beset):
    tale = beset()
    tale.request([0], partition=0, at_ms=10)
    tale.answer(0, -1, at_ms=11, error_code=2)
    tale.deliver([0], partition=0, at_ms=111)
    for shows in (
        broker_errors.over_appends,
        broker_errors.out_of_order,
        broker_errors.unknown_producer,
        broker_errors.not_leader,
        broker_errors.too_large,
    ):
        assert shows(tale.evidence()).count == 0


@pytest.mark.parametrize(("later", "count"), [([0], 1), ([0, 1, 2], 0)])
def test_oversized_batch_shows_in_a_smaller_one(beset, later, count):
    tale = beset()
    tale.request([0, 1], partition=0, at_ms=10)
    tale.answer(0, -1, at_ms=11, error_code=10)
    tale.deliver(later, partition=0, at_ms=20)
    assert broker_errors.too_large(tale.evidence()).count == count


def test_oversized_batch_shows_in_failed_records(beset):
    tale = beset()
    tale.call(0, 1)
    tale.request([0, 1], partition=0, at_ms=10)
    tale.answer(0, -1, at_ms=11, error_code=10)
    for n in (0, 1):
        tale.result(n, at_ms=12, outcome="fail", error="MESSAGE_TOO_LARGE")
    assert broker_errors.too_large(tale.evidence()).count == 1


def test_throttle_time_is_in_the_response(beset):
    tale = beset()
    tale.deliver([0], partition=0, at_ms=10)
    assert broker_errors.throttled(tale.evidence()).count == 0
    tale.frames[-1] = restruct(tale.frames[-1], throttle_ms=300)
    assert broker_errors.throttled(tale.evidence()).count == 1


@pytest.mark.parametrize(("then", "count"), [("lower", 1), ("leaves", 1), ("nothing", 0)])
def test_unsupported_version_shows_in_a_lower_one(beset, then, count):
    tale = beset()
    other(tale, 1, FrameKind.REQUEST, api="ApiVersions", api_version=4)
    other(tale, 2, FrameKind.RESPONSE, api="ApiVersions", api_version=4, error_codes=(35,))
    if then == "lower":
        other(tale, 3, FrameKind.REQUEST, api="ApiVersions", api_version=0)
    elif then == "leaves":
        tale.close(1, at_ms=3)
    assert broker_errors.asked_lower(tale.evidence()).count == count


@pytest.mark.parametrize(("then", "count"), [("asks", 1), ("gives up", 1), ("nothing", 0)])
def test_rejected_identity_is_requested_again(beset, then, count):
    tale = beset()
    other(tale, 1, FrameKind.REQUEST, api="InitProducerId")
    other(tale, 2, FrameKind.RESPONSE, api="InitProducerId", error_codes=(14,))
    if then == "asks":
        other(tale, 102, FrameKind.REQUEST, api="InitProducerId")
    elif then == "gives up":
        tale.call(0)
    assert broker_errors.identity_refused(tale.evidence()).count == count


@pytest.mark.parametrize(("conn", "closed_ms", "count"), [(2, 1_100, 1), (1, 1_100, 0), (2, 5_000, 0)])
def test_reconnect_follows_a_connection_that_ended_in_a_fault(story, conn, closed_ms, count):
    tale = story()
    tale.fault("reset", 1_000, 1_200)
    tale.deliver([0], partition=0, at_ms=10)
    tale.close(1, at_ms=closed_ms)
    tale.deliver([1], partition=0, at_ms=5_500, conn=conn)
    assert connections.another_way(tale.evidence()).count == count


@pytest.mark.parametrize(("broker", "count"), [(1, 0), (2, 1)])
def test_another_leader_is_another_broker(beset, broker, count):
    tale = beset()
    tale.deliver([0], partition=0, at_ms=10)
    tale.request([1], partition=0, at_ms=20, conn=2)
    tale.frames[-1] = restruct(tale.frames[-1], broker=broker)
    assert connections.other_leaders(tale.evidence()).count == count


@pytest.mark.parametrize(("answered", "count"), [(True, 0), (False, 1)])
def test_failed_connection_has_a_request_and_no_response(beset, answered, count):
    tale = beset()
    other(tale, 1, FrameKind.REQUEST, api="ApiVersions")
    if answered:
        other(tale, 2, FrameKind.RESPONSE, api="ApiVersions")
    tale.close(1, at_ms=3_000)
    assert connections.in_vain(tale.evidence()).count == count


@pytest.mark.parametrize(("conn", "count"), [(1, 0), (2, 1)])
def test_torn_request_is_followed_by_a_whole_one_elsewhere(beset, conn, count):
    tale = beset()
    other(tale, 10, FrameKind.OPAQUE, size_bytes=3)
    tale.deliver([0], partition=0, at_ms=100, conn=conn)
    assert connections.torn_requests(tale.evidence()).count == count


@pytest.mark.parametrize(("partition", "count"), [(1, 0), (2, 1)])
def test_new_partition_has_a_higher_number(beset, partition, count):
    tale = beset()
    tale.deliver([0], partition=partition, at_ms=10)
    assert connections.new_partitions(tale.evidence()).count == count


@pytest.mark.parametrize(
    ("before_ms", "after_ms", "base", "count"),
    [(500, 3_500, 4, 1), (500, 3_500, 0, 0), (1_100, 3_500, 4, 0), (500, 2_900, 4, 0), (None, 3_500, 4, 0)],
    ids=["goes on", "begins again", "known since the fault", "within the fault", "not known before"],
)
def test_unknown_producer_continues_with_the_next_sequence(story, before_ms, after_ms, base, count):
    tale = story()
    tale.fault("producer_id_expiry", 1_000, 3_000)
    for at_ms, sequence in ((before_ms, 0), (after_ms, base)):
        if at_ms is not None:
            tale.request([0], partition=0, at_ms=at_ms, sequence=(7, 0, sequence))
            tale.answer(0, 0, at_ms=at_ms + 1)
    assert connections.went_on_unknown(tale.evidence()).count == count
    assert connections.went_on_unknown(replace(tale.evidence(), faults=())).count == 0


@pytest.mark.parametrize(("at_ms", "count"), [(2_000, 1), (500, 0)])
def test_trimmed_log_begins_later_and_continues(story, at_ms, count):
    tale = story()
    tale.fault("log_trim", 1_000, 3_000)
    tale.deliver([0, 1], partition=0, at_ms=at_ms)
    assert connections.trimmed(tale.evidence()).count == 0
    tale.log.pop(0)
    assert connections.trimmed(tale.evidence()).count == count
    assert connections.trimmed(replace(tale.evidence(), faults=())).count == 0


@pytest.mark.parametrize(("begin_ms", "count"), [(3_050, 0), (2_900, 1)])
def test_effect_before_a_fault_is_not_its_own(story, begin_ms, count):
    tale = story()
    tale.fault("broker_pause", begin_ms, 4_000)
    tale.call(0, at_ms=10)
    tale.request([0], partition=0, at_ms=20)
    tale.close(1, at_ms=3_030)
    for shows in (consequence.stalled, responses.overdue):
        assert shows(tale.evidence()).count == count
