"""Producer id, epoch and sequence: in every batch, assigned by a broker, and kept while nothing fails."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.rows import Frame, FrameKind
from harness.model.verdicts import Guarantee
from harness.plugins.check import Inconclusive
from suites.checks.wire.producer_identity import CHECK
from testkit.codes import raises_code
from tests.suites.story import ns, stalled


def found(told):
    return [(finding.anomaly, finding.count) for finding in CHECK.run(told.evidence())]


def deliver(told, n, at_ms, sequence, conn=1):
    told.call(n, at_ms=at_ms - 5)
    told.request([n], 0, at_ms=at_ms, conn=conn, sequence=sequence)
    base = told.append([n], 0, producer_id=sequence[0], producer_epoch=sequence[1], sequence=sequence[2])
    told.answer(0, base, at_ms=at_ms + 1, conn=conn)
    told.result(n, at_ms=at_ms + 2, offset=base)


@given(data=st.data())
def test_faithful_trial_is_never_accused(faithful_numbered, data):
    assert found(data.draw(faithful_numbered)) == []


@pytest.mark.parametrize("field", ["producer_id", "producer_epoch", "base_sequence"])
def test_missing_number_is_found(numbered, changed_last, field):
    told = numbered()
    deliver(told, 0, 10, (7, 0, 0))
    deliver(told, 1, 20, (7, 0, 1))
    changed_last(told, **{field: -1})

    assert found(told) == [("identity-missing", 1)]


def test_unreadable_batch_is_not_judged(numbered, changed_last):
    told = numbered()
    deliver(told, 0, 10, (7, 0, 0))
    changed_last(told, producer_id=None, producer_epoch=None, base_sequence=None, records=None, crc=None)
    (requirement,) = CHECK.requirements

    assert found(told) == []
    assert requirement.arises(told.evidence()) == 0


def test_producer_id_must_come_from_a_broker(story, given_id):
    told = story(Guarantee.IDEMPOTENT)
    deliver(told, 0, 10, (7, 0, 0))
    assert found(told) == [("identity-invented", 1)]

    given_id(told, error_codes=(15,))
    assert found(told) == [("identity-invented", 1)]

    given_id(told)
    assert found(told) == []


@pytest.mark.parametrize("identity", [(7, 1, 0), (8, 0, 0)])
def test_identity_change_without_a_reason_is_found(numbered, given_id, identity):
    told = numbered()
    given_id(told)
    deliver(told, 0, 10, (7, 0, 0))
    deliver(told, 1, 20, identity)

    assert found(told) == [("identity-changed", 1)]


@pytest.mark.parametrize("failure", ["close", "error", "silence", "lateness", "result", "fault"])
def test_failure_justifies_a_change(numbered, failure):
    told = numbered()
    deliver(told, 0, 10, (7, 0, 0))
    told.call(5, at_ms=10)
    if failure == "close":
        told.close(1, at_ms=15)
    elif failure == "result":
        told.result(5, at_ms=15, outcome="info", error="late")
    elif failure == "fault":
        told.fault("latency", 12, 15, upstream_ms=5)
    else:
        told.request([5], 0, at_ms=15, sequence=(7, 0, 1))
        if failure != "silence":
            late = failure == "lateness"
            told.answer(0, -1, at_ms=4_000 if late else 16, error_code=0 if late else 45)
    deliver(told, 1, 20 if failure != "lateness" else 4_100, (7, 1, 0), conn=2)

    assert found(told) == []


@pytest.mark.parametrize(("last_ms", "accused"), [(5_000, []), (9_000, [("identity-changed", 1)])])
def test_old_failure_does_not_justify_a_change(numbered, last_ms, accused):
    """The identity is still used long after the failure, and changes then."""
    told = numbered()
    deliver(told, 0, 10, (7, 0, 0))
    told.close(1, at_ms=20)
    deliver(told, 1, last_ms, (7, 0, 1), conn=2)
    deliver(told, 2, last_ms + 500, (7, 1, 0), conn=2)

    assert found(told) == accused


def test_later_failure_does_not_justify_a_change(numbered):
    told = numbered()
    deliver(told, 0, 10, (7, 0, 0))
    deliver(told, 1, 20, (7, 1, 0))
    told.close(1, at_ms=30)

    assert found(told) == [("identity-changed", 1)]


def test_unused_connection_closed_by_the_client_does_not_justify_a_change(numbered):
    told = numbered()
    deliver(told, 0, 10, (7, 0, 0))
    told.open(3, at_ms=11)
    told.close(3, at_ms=15)
    deliver(told, 1, 20, (7, 1, 0))

    assert found(told) == [("identity-changed", 1)]


def test_last_epoch_does_not_justify_another_epoch_of_the_same_id(numbered):
    told = numbered()
    deliver(told, 0, 10, (7, 32_767, 0))
    deliver(told, 1, 20, (7, 0, 0))

    assert found(told) == [("identity-changed", 1)]


def test_producer_id_must_be_assigned_before_its_use(numbered, given_id):
    told = numbered()
    deliver(told, 0, 10, (7, 0, 0))
    deliver(told, 1, 20, (8, 0, 0))
    given_id(told, at_ms=30)

    assert found(told) == [("identity-invented", 1), ("identity-changed", 1)]


@pytest.mark.parametrize(("unread_ms", "is_doubted"), [(15, True), (25, False)])
def test_unread_bytes_may_have_assigned_an_id_used_later(numbered, unread_ms, is_doubted):
    told = numbered()
    deliver(told, 0, 10, (7, 0, 0))
    deliver(told, 1, 20, (8, 0, 0))
    told.frames.append(Frame(ns(unread_ms), 0, 1, 2, FrameKind.OPAQUE))

    with pytest.raises(Inconclusive) if is_doubted else nullcontext():
        assert found(told) == [("identity-invented", 1), ("identity-changed", 1)]


def test_last_epoch_is_followed_by_another_producer_id(numbered, given_id):
    told = numbered()
    given_id(told)
    deliver(told, 0, 10, (7, 32_767, 0))
    deliver(told, 1, 20, (8, 0, 0))

    assert found(told) == []


def test_new_id_for_every_request_is_found(numbered, given_id):
    told = numbered()
    for n in range(5):
        given_id(told)
        deliver(told, n, 10 * n + 10, (7 + n, 0, 0))

    assert found(told) == [("identity-changed", 4)]


@pytest.mark.parametrize(("stall_ms", "is_doubted"), [((4_000, 7_000), True), ((9_000, 12_000), False)])
def test_change_after_a_stall_is_doubtful(numbered, given_id, stall_ms, is_doubted):
    """A late response may have timed out. A stall after the change does not justify it."""
    told = numbered()
    given_id(told)
    deliver(told, 0, 5_500, (7, 0, 0))
    deliver(told, 1, 8_000, (7, 1, 0))

    with pytest.raises(Inconclusive) if is_doubted else nullcontext():
        assert CHECK.run(stalled(told.evidence(), *stall_ms))


@pytest.mark.parametrize(("answers_ms", "is_doubted"), [(900, True), (100, False)])
def test_change_with_records_waiting_behind_requests_is_doubtful(numbered, given_id, answers_ms, is_doubted):
    """A request that waited for its turn may have timed out."""
    told = numbered(config={"request.timeout.ms": 3_000})
    given_id(told)
    told.call(9, at_ms=-10)
    for n in range(5):
        told.call(n, at_ms=1_000 * n)
        told.request([n], 0, at_ms=1_000 * n + 5, sequence=(7, 0, n))
        base = told.append([n], 0, producer_id=7, producer_epoch=0, sequence=n)
        told.answer(0, base, at_ms=1_000 * n + answers_ms)
        told.result(n, at_ms=1_000 * n + answers_ms + 1, offset=base)
    deliver(told, 5, 5_100, (7, 1, 0))

    with raises_code(Inconclusive, "record-waited") if is_doubted else nullcontext():
        assert found(told) == [("identity-changed", 1)]
