"""Timestamps of single records in the log, compared with the time in which the client had them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.model.contract import Stats
from harness.model.verdicts import Guarantee
from suites.checks.wire.record_timestamps import CHECK

#: The wall clock at moment 0 of a story, when load begins.
WALL_MS = 1_795_370_000_000
T0_MS = 5_000_000
CALL_MS, SENT_MS, AGAIN_MS = 0, 10, 40_000


def clocked(told):
    """The client reports its wall clock, and each record has the time of its call unless a time is given."""
    told.history.append(
        Stats(seq=0, mono_ns=T0_MS * 1_000_000, wall_ns=WALL_MS * 1_000_000, sent=0, completed=0)
    )
    told.log = [
        record if record.timestamp_ms else replace(record, timestamp_ms=WALL_MS) for record in told.log
    ]
    return told


def dated(story, *at_ms):
    """Records 0, 1, ... of one batch, with timestamps this long after load began. The batch is sent at 10 ms."""
    told = story()
    numbers = list(range(len(at_ms)))
    told.call(*numbers)
    base = told.deliver(numbers, 0, at_ms=SENT_MS)
    for n in numbers:
        told.result(n, at_ms=SENT_MS + 2, offset=base + n)
    told.log = [
        replace(record, timestamp_ms=WALL_MS + at) for record, at in zip(told.log, at_ms, strict=True)
    ]
    return clocked(told)


def found(told):
    return [(each.anomaly, each.count, each.params["most_ms"]) for each in CHECK.run(told.evidence())]


@given(data=st.data(), guarantee=st.sampled_from([Guarantee.AT_LEAST_ONCE, Guarantee.IDEMPOTENT]))
def test_faithful_trial_is_never_accused(faithful, data, guarantee):
    told = data.draw(faithful(guarantee))
    called_ms = [int(told.called_ms.get(n, 0)) for n in told.evidence().numbers]
    told.log = [
        replace(record, timestamp_ms=WALL_MS + at) for record, at in zip(told.log, called_ms, strict=True)
    ]

    assert found(clocked(told)) == []


@pytest.mark.parametrize(
    ("at_ms", "most_ms"),
    [(-5_001, 5_001), (-5_000, None), (0, None), (5_010, None), (5_011, 5_001), (-86_400_000, 86_400_000)],
)
def test_timestamp_is_between_the_call_and_the_last_attempt(story, at_ms, most_ms):
    told = dated(story, 0, at_ms, 0)
    assert found(told) == ([] if most_ms is None else [("record-misdated", 1, most_ms)])


def test_later_attempt_may_have_a_later_timestamp(story):
    told = dated(story, 30_000)
    assert found(told) == [("record-misdated", 1, 30_000 - SENT_MS)]
    told.request([0], 0, at_ms=AGAIN_MS)
    assert found(told) == []


def test_without_a_request_the_end_of_the_client_is_the_limit(story):
    told = dated(story, 30_000)
    told.frames = []
    assert found(told) == [("record-misdated", 1, 30_000 - SENT_MS - 2)]
    told.beat(AGAIN_MS)
    assert found(told) == []


def test_client_without_a_clock_and_foreign_records_are_not_judged(story):
    told = dated(story, -86_400_000)
    told.history = [event for event in told.history if not event.wall_ns]
    (requirement,) = CHECK.requirements
    assert (found(told), requirement.arises(told.evidence())) == ([], 0)

    told = dated(story, -86_400_000)
    assert requirement.arises(told.evidence()) == 1
    told.log = [replace(record, value="damaged") for record in told.log]
    assert (found(told), requirement.arises(told.evidence())) == ([], 0)
