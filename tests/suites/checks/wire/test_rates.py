"""Backoff, request storms, throttling and connections: the load on a broker."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.model.rows import Frame, FrameKind
from harness.model.verdicts import Guarantee
from suites.checks.wire import (
    api_versions_first,
    connections_leaked,
    metadata_storm,
    retry_spacing,
    throttle_ignored,
)
from suites.checks.wire.rate import busiest_second

CHECKS = [module.CHECK for module in (retry_spacing, metadata_storm, throttle_ignored, connections_leaked)]
BOTH = st.sampled_from([Guarantee.AT_LEAST_ONCE, Guarantee.IDEMPOTENT])
MS = 1_000_000
T0 = 5_000_000 * MS


def frame(at_ms, kind=FrameKind.REQUEST, api="Metadata", conn=1, **fields):
    return Frame(t_ns=T0 + int(at_ms * MS), lane=0, broker=1, conn=conn, kind=kind, api=api, **fields)


def found(check, told):
    return [(finding.anomaly, finding.count) for finding in check.run(told.evidence())]


@given(data=st.data(), guarantee=BOTH)
def test_faithful_trial_is_never_accused(faithful, data, guarantee):
    evidence = data.draw(faithful(guarantee)).evidence()

    assert [check.run(evidence) for check in CHECKS] == [[]] * len(CHECKS)


@given(moments=st.lists(st.integers(0, 5_000), max_size=40))
def test_busiest_second_contains_most_moments(moments):
    counts = [sum(0 <= end - at <= 1_000 for at in moments) for end in moments]

    assert busiest_second(at * MS for at in moments).times == max(counts, default=0)


# attempts


def retried(story, *pauses_ms, error_code=6, **changes):
    told = story(**changes)
    told.call(0)
    at_ms = 10
    for pause_ms in (*pauses_ms, None):
        told.request([0], 0, at_ms=at_ms)
        if pause_ms is None:
            break
        told.answer(0, -1, at_ms=at_ms + 1, error_code=error_code)
        at_ms += 1 + pause_ms
    return told


@pytest.mark.parametrize(("pause_ms", "accused"), [(78, [("retry-too-soon", 1)]), (79, []), (500, [])])
def test_retry_waits_for_its_backoff(story, pause_ms, accused):
    assert found(retry_spacing.CHECK, retried(story, pause_ms)) == accused


def test_client_without_a_backoff_setting_is_judged_for_storms_only(story):
    not_set = {"retry.backoff.ms": "it has none"}
    assert found(retry_spacing.CHECK, retried(story, 5, 5, not_set=not_set)) == []

    told = retried(story, *[10] * 60, not_set=not_set)
    assert found(retry_spacing.CHECK, told) == [("retry-storm", 1)]


def test_storm_is_twice_what_the_backoff_allows(story):
    """A backoff of 10 ms, less 20 %, allows 125 per second."""
    config = {"retry.backoff.ms": 10}
    assert found(retry_spacing.CHECK, retried(story, *[8] * 300, config=config)) == []
    assert found(retry_spacing.CHECK, retried(story, *[2] * 300, config=config)) == [
        ("retry-too-soon", 300),
        ("retry-storm", 1),
    ]


def test_lost_connection_requires_no_backoff(story):
    told = story()
    told.call(0)
    for n in range(3):
        told.request([0], 0, at_ms=10 + n, conn=n)
        told.close(n, at_ms=10.5 + n)

    assert found(retry_spacing.CHECK, told) == []


@pytest.mark.parametrize(
    ("closed_ms", "fault_ms", "accused"),
    [
        (10.5, None, []),  # before the response: the client never received it
        (12, None, [("retry-too-soon", 1)]),
        (12, (5, 15), []),
        (12, (20, 30), [("retry-too-soon", 1)]),
    ],
)
def test_unreceived_response_requires_no_backoff(story, closed_ms, fault_ms, accused):
    told = story()
    told.call(0)
    told.request([0], 0, at_ms=10)
    told.answer(0, -1, at_ms=11, error_code=6)
    told.close(1, at_ms=closed_ms)
    told.request([0], 0, at_ms=14, conn=2)
    if fault_ms:
        told.fault("reset", *fault_ms)

    assert found(retry_spacing.CHECK, told) == accused


def test_oversized_batch_may_be_split_and_sent_at_once(story):
    assert found(retry_spacing.CHECK, retried(story, 5, error_code=10)) == []


@pytest.mark.parametrize(("error_code", "accused"), [(6, []), (19, [("retry-too-soon", 1)])])
def test_new_leader_may_be_asked_at_once(story, error_code, accused):
    told = retried(story, 5, error_code=error_code)
    told.frames.append(replace(frame(3, conn=9), broker=2))

    assert found(retry_spacing.CHECK, told) == accused


@pytest.mark.parametrize(("kind", "accused"), [("broker_pause", []), ("latency", [("retry-too-soon", 1)])])
def test_restarted_broker_may_lead_in_a_new_epoch(story, kind, accused):
    told = retried(story, 5)
    told.fault(kind, -900, -600)

    assert found(retry_spacing.CHECK, told) == accused


@pytest.mark.parametrize(("asked_ms", "accused"), [(-2_989.5, []), (-2_000, [("retry-too-soon", 1)])])
def test_request_that_may_have_timed_out_requires_no_backoff(story, asked_ms, accused):
    """The client disconnects after its timeout while the response is in flight."""
    told = story(config={"request.timeout.ms": 3_000})
    told.call(0, at_ms=-2_995)
    told.request([0], 0, at_ms=asked_ms)
    told.answer(0, -1, at_ms=11, error_code=6)
    told.close(1, at_ms=12)
    told.request([0], 0, at_ms=14, conn=2)

    assert found(retry_spacing.CHECK, told) == accused


def test_new_leader_ends_the_backoff(story):
    told = retried(story, 5, error_code=19)
    assert found(retry_spacing.CHECK, told) == [("retry-too-soon", 1)]

    told.frames[-1] = replace(told.frames[-1], broker=2)
    assert found(retry_spacing.CHECK, told) == []


def test_different_batch_is_not_a_retry(story, changed_last):
    told = retried(story, 5)
    changed_last(told, crc=1)

    assert found(retry_spacing.CHECK, told) == []
    assert retry_spacing.CHECK.requirements[0].arises(told.evidence()) == 0
    assert retry_spacing.CHECK.requirements[0].arises(retried(story, 5).evidence()) == 1


# metadata


def asking(story, times, every_ms, **changes):
    told = story(**changes)
    told.frames += [frame(10 + n * every_ms) for n in range(times)]
    return told


@pytest.mark.parametrize(
    ("times", "every_ms", "accused"),
    [(2_000, 0.5, True), (200, 1, True), (125, 1, False), (1_000, 80, False), (1_000, 10, False)],
)
def test_frequent_metadata_requests_are_found(story, times, every_ms, accused):
    assert bool(found(metadata_storm.CHECK, asking(story, times, every_ms))) == accused


def test_configured_interval_allows_more_metadata_requests(story):
    assert not found(metadata_storm.CHECK, asking(story, 1_000, 2, config={"retry.backoff.ms": 10}))
    assert found(metadata_storm.CHECK, asking(story, 1_000, 2, not_set={"retry.backoff.ms": "none"}))


def test_errors_and_connections_justify_metadata_requests(story):
    told = asking(story, 140, 1)
    assert found(metadata_storm.CHECK, told)

    told.frames += [frame(5 + n, FrameKind.OPEN, api=None, conn=n + 5) for n in range(2)]
    told.frames += [frame(5, FrameKind.RESPONSE, api="Produce", error_codes=(6,))]
    assert not found(metadata_storm.CHECK, told)

    told.frames = [
        each if each.api == "Metadata" else replace(each, t_ns=T0 - 9_000 * MS) for each in told.frames
    ]
    assert found(metadata_storm.CHECK, told)


def test_situations_of_metadata(story):
    told = asking(story, 3, 500)
    told.frames.append(frame(11, FrameKind.RESPONSE))
    arises = {each.id: each.arises(told.evidence()) for each in metadata_storm.CHECK.requirements}

    assert arises["MET-03"] == 2


# throttles


def throttled(story, *at_ms, throttle_ms=10_000, version=8, conn=1):
    told = story()
    asked = {"api": "Produce", "api_version": version, "correlation_id": 1_000}
    told.frames.append(frame(99, **asked))
    told.frames.append(frame(100, FrameKind.RESPONSE, throttle_ms=throttle_ms, **asked))
    told.frames += [frame(each, api="Produce", conn=conn, correlation_id=n) for n, each in enumerate(at_ms)]
    return told


@pytest.mark.parametrize(
    ("at_ms", "accused"),
    [(101, 0), (1_099, 0), (1_101, 1), (5_000, 1), (10_070, 1), (10_090, 0), (10_200, 0)],
)
def test_request_on_a_throttled_connection_is_found(story, at_ms, accused):
    assert len(found(throttle_ignored.CHECK, throttled(story, at_ms))) == accused


def test_throttling_ends_or_does_not_apply(story):
    check = throttle_ignored.CHECK
    assert found(check, throttled(story, 5_000, 5_001)) == [("throttle-ignored", 2)]
    assert found(check, throttled(story, 5_000, conn=2)) == []
    assert found(check, throttled(story, 5_000, version=5)) == []
    assert found(check, throttled(story, 1_120, throttle_ms=1_010)) == []


DOWN, UP = {"downstream_bytes_per_s": 2_000}, {"upstream_bytes_per_s": 2_000}


@pytest.mark.parametrize(
    ("kind", "end_ms", "params", "accused"),
    [
        ("latency", 200, {"upstream_ms": 2_000, "downstream_ms": 2_000}, 1),
        ("latency", 200, {"upstream_ms": 3_000, "downstream_ms": 3_000}, 1),
        ("latency", 3_000, {"upstream_ms": 3_000, "downstream_ms": 3_000}, 0),
        ("bandwidth", 200, DOWN, 1),
        ("bandwidth", 6_000, DOWN, 0),
        ("bandwidth", 4_000, UP, 1),
        ("bandwidth", 6_000, UP, 0),
        ("dropped_response", 200, {}, 0),
        ("dropped_response", 200, {"brokers": (2,)}, 1),
        ("held_frame", 9_000, {}, 1),
        ("throttle", 200, {}, 1),
    ],
)
def test_fault_excuses_only_what_it_may_have_held(story, kind, end_ms, params, accused):
    told = throttled(story, 5_000)
    brokers = params.get("brokers", ())
    told.fault(kind, 0, end_ms, **{name: value for name, value in params.items() if name != "brokers"})
    told.faults[0] = replace(told.faults[0], spec=replace(told.faults[0].spec, brokers=brokers))

    assert len(found(throttle_ignored.CHECK, told)) == accused


def test_out_of_order_response_requires_nothing(story):
    told = throttled(story, 5_000)
    told.frames[0] = replace(told.frames[0], correlation_id=999)
    assert found(throttle_ignored.CHECK, told) == []


def test_short_throttle_is_not_a_situation(story):
    (requirement,) = throttle_ignored.CHECK.requirements
    assert requirement.arises(throttled(story, throttle_ms=900).evidence()) == 0
    assert requirement.arises(throttled(story).evidence()) == 1


# connections


def connected(story, count, begin_ms=10, ends_ms=None, broker=1):
    told = story()
    for n in range(count):
        told.frames.append(replace(frame(begin_ms + n, FrameKind.OPEN, None, conn=n + 1), broker=broker))
        if ends_ms is not None:
            at_ms = begin_ms + n + ends_ms
            told.frames.append(replace(frame(at_ms, FrameKind.CLOSE, None, conn=n + 1), broker=broker))
    return told


@pytest.mark.parametrize(
    ("count", "ends_ms", "accused"),
    [
        (20, None, []),
        (500, None, [("connections-open", 500), ("connections-leaked", 500)]),
        (500, 10, []),
        (500, 100, [("connections-open", 100)]),
    ],
)
def test_too_many_connections_are_found(story, count, ends_ms, accused):
    assert found(connections_leaked.CHECK, connected(story, count, ends_ms=ends_ms)) == accused


def test_connection_may_end_unseen_during_a_fault(story):
    told = connected(story, 500, ends_ms=5_000)
    told.fault("accept_then_close", 0, 600)
    assert found(connections_leaked.CHECK, told) == []

    told = connected(story, 500)
    told.fault("accept_then_close", 0, 600)
    assert found(connections_leaked.CHECK, told) == [("connections-leaked", 500)]


@pytest.mark.parametrize("kind", ["swapped_responses", "unsupported_version", "throttle", "error_response"])
def test_frame_rule_does_not_hide_a_disconnect(story, kind):
    told = connected(story, 500, ends_ms=5_000)
    told.fault(kind, 0, 600)

    assert found(connections_leaked.CHECK, told) == [("connections-open", 500)]


def test_connections_are_counted_per_broker(story):
    told = connected(story, 15)
    told.frames += [replace(each, broker=2, conn=each.conn + 100) for each in told.frames]

    assert found(connections_leaked.CHECK, told) == []


# the first request


def test_connection_begins_with_api_versions(story):
    told = story()
    told.frames = [
        frame(1, api="SaslHandshake", conn=1),
        frame(2, api="ApiVersions", conn=1),
        frame(3, api="Metadata", conn=1),
        frame(4, api="Metadata", conn=2),
        frame(5, api="ApiVersions", conn=2),
        frame(6, FrameKind.OPEN, None, conn=3),
    ]
    check = api_versions_first.CHECK
    (finding,) = check.run(told.evidence())

    assert (finding.anomaly, finding.count, finding.params["apis"]) == (
        "api-versions-skipped",
        1,
        ("Metadata",),
    )
    assert check.requirements[0].arises(told.evidence()) == 2
    told.frames = told.frames[:3]
    assert check.run(told.evidence()) == []
