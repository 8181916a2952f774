"""Whether a client received a response: shown by its results, and by the timestamps of its later batches."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from harness.model.contract import Stats
from harness.model.rows import FrameKind
from suites.checks.wire import throttle_ignored
from suites.checks.wire.heard import made_after, read_by_ns

MS = 1_000_000
T0 = 5_000_000 * MS
#: The wall clock at moment 0 of a story, when load begins.
WALL_MS = 1_795_370_000_000
ANSWERED_MS, TOLD_MS = 11, 20


def answered(story, told_ms=TOLD_MS, outcome="ok", throttle_ms=0):
    """Two records in a batch that is answered at 11 ms and acknowledged at 20 ms."""
    told = story()
    told.call(0, 1)
    base = told.deliver([0, 1], 0, at_ms=ANSWERED_MS - 1)
    told.frames[-1] = replace(told.frames[-1], api_version=9, throttle_ms=throttle_ms)
    told.result(0, at_ms=told_ms - 2, offset=base)
    told.result(1, at_ms=told_ms, offset=base + 1, outcome=outcome)
    told.history.append(Stats(seq=0, mono_ns=T0, wall_ns=WALL_MS * MS, sent=0, completed=0))
    return told


def read_ms(told):
    return [(at_ns - T0) // MS for at_ns in read_by_ns(told.evidence()).values()]


@pytest.mark.parametrize(
    ("changes", "read"),
    [
        ({}, [TOLD_MS]),
        ({"outcome": "info"}, []),
        ({"told_ms": ANSWERED_MS + 1}, [ANSWERED_MS + 1]),
        ({"told_ms": ANSWERED_MS - 1}, []),  # the client got the offset elsewhere, or invented it
    ],
)
def test_acknowledgement_shows_that_a_response_was_read(story, changes, read):
    assert read_ms(answered(story, **changes)) == read


def test_two_responses_with_one_offset_are_ambiguous(story):
    told = answered(story)
    told.request([0, 1], 0, at_ms=12)
    told.answer(0, 0, at_ms=13)
    assert read_ms(told) == []


@pytest.mark.parametrize(("dated_ms", "after"), [(20, False), (21, True), (None, False)])
def test_later_timestamp_shows_a_later_creation(story, changed_last, dated_ms, after):
    told = answered(story)
    told.request([2], 0, at_ms=30)
    changed_last(told, max_timestamp_ms=None if dated_ms is None else WALL_MS + dated_ms)

    assert made_after(told.evidence(), told.evidence().frames[-1], T0 + 20 * MS) == after


@pytest.mark.parametrize(
    ("dated_ms", "at_ms", "accused"),
    [(21, 60, 1), (19, 60, 0), (None, 60, 0), (None, 1_200, 1), (19, 1_200, 1), (21, 2_995, 0)],
)
@pytest.mark.parametrize("kind", ["bandwidth", "half_open", None])
def test_record_younger_than_the_result_was_sent_too_early(
    story, changed_last, kind, dated_ms, at_ms, accused
):
    """No fault can make a record younger."""
    told = answered(story, throttle_ms=3_000)
    told.request([2], 0, at_ms=at_ms)
    changed_last(told, max_timestamp_ms=None if dated_ms is None else WALL_MS + dated_ms)
    if kind is not None:
        told.fault(kind, 0, 6_000, downstream_bytes_per_s=2_000)
        accused = accused if dated_ms == 21 else 0
    assert told.frames[-1].kind is FrameKind.REQUEST

    assert sum(each.count for each in throttle_ignored.CHECK.run(told.evidence())) == accused
