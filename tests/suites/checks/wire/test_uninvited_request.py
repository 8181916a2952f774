"""Produce requests that the application did not request: to another topic, or after the client was closed."""

from __future__ import annotations

from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.model.verdicts import Guarantee
from suites.checks.wire.uninvited_request import CHECK

CLOSED_MS = 8_000
BOTH = st.sampled_from([Guarantee.AT_LEAST_ONCE, Guarantee.IDEMPOTENT])


def found(told):
    return [(each.anomaly, each.requirement, each.level, each.count) for each in CHECK.run(told.evidence())]


def arises(told):
    return {each.id: each.arises(told.evidence()) for each in CHECK.requirements}


def one(story):
    told = story()
    told.call(0)
    told.result(0, at_ms=20, offset=told.deliver([0], 0, at_ms=10))
    return told


@given(data=st.data(), guarantee=BOTH)
def test_faithful_trial_is_never_accused(faithful, data, guarantee):
    told = data.draw(faithful(guarantee))
    told.finished("close", at_ms=told.end_ms)

    assert found(told) == []


# the topic


@pytest.mark.parametrize(("topic", "is_strange"), [("run-0", False), ("run-0-other", True), ("", True)])
def test_batch_to_another_topic_is_found(story, changed_last, topic, is_strange):
    told = one(story)
    changed_last(told, topic=topic)

    assert found(told) == ([("other-topic", "E2E-DEL-06", "MUST", 1)] if is_strange else [])
    assert arises(told)["E2E-DEL-06"] == 1


def test_unknown_topic_id_is_not_judged(story, changed_last):
    told = one(story)
    changed_last(told, topic=str(uuid4()))

    assert (found(told), arises(told)["E2E-DEL-06"]) == ([], 0)


# the close


def late(story, after_ms, outcome="ok", **changes):
    """Closed at 8 s, with a request this long afterwards."""
    told = one(story)
    for name, value in changes.items():
        setattr(told, name, value)
    told.finished("close", at_ms=CLOSED_MS, outcome=outcome)
    told.request([0], 0, at_ms=CLOSED_MS + after_ms)
    return told


AFTER_CLOSE = [("sent-after-close", "PRD-CLS-03", "MUST", 1)]


@pytest.mark.parametrize(
    ("after_ms", "accused"), [(-1, []), (499, []), (501, AFTER_CLOSE), (20_000, AFTER_CLOSE)]
)
def test_request_after_close_is_found(story, after_ms, accused):
    assert found(late(story, after_ms)) == accused


@pytest.mark.parametrize(("shuts_down", "accused"), [(True, AFTER_CLOSE), (False, [])])
def test_client_with_a_failed_close_is_closed_at_shutdown(story, shuts_down, accused):
    told = late(story, 20_000, outcome="info", shuts_down=shuts_down)

    assert found(told) == accused
    assert arises(told)["PRD-CLS-03"] == shuts_down


@pytest.mark.parametrize(
    ("kind", "end_ms", "params", "accused"),
    [
        ("latency", CLOSED_MS + 100, {"upstream_ms": 3_000}, []),
        ("latency", CLOSED_MS - 3_000, {"upstream_ms": 3_000}, AFTER_CLOSE),
        ("bandwidth", CLOSED_MS + 3_000, {"upstream_bytes_per_s": 2_000}, []),
        ("bandwidth", CLOSED_MS - 100, {"upstream_bytes_per_s": 2_000}, AFTER_CLOSE),
        ("broker_pause", CLOSED_MS + 1_900, {}, []),
        ("broker_pause", CLOSED_MS + 1_000, {}, AFTER_CLOSE),
    ],
)
def test_request_held_by_a_fault_was_sent_before(story, kind, end_ms, params, accused):
    told = late(story, 2_000)
    told.fault(kind, 1_000, end_ms, **params)

    assert found(told) == accused


def test_request_without_acks_may_have_waited_in_a_buffer(story):
    told = late(story, 20_000)
    told.frames[-1] = replace(told.frames[-1], acks=0)
    assert found(told) == []
