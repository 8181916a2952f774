"""A broker's stall is detected from its own behaviour, not from what a witness rule did with its responses.

A client that gives up after one request timeout is accused in every scenario on single frames, unless the broker
itself was slow.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec.structs import replace as restruct

from harness.model.evidence import Evidence, passed_and_stopped
from harness.model.rows import Disposition, Frame
from suites.analysis.disturbance import broker_stalls, slow_answers
from suites.checks.history import gave_up

MS = 1_000_000
TIMED_OUT_MS = 3_010
LATE_MS = 4_011


class Ruled:
    """Two batches sent at 10 and 11 ms on one connection, by default answered a millisecond later.

    The client gives both up when the first has timed out, closes the connection, and continues.
    """

    def __init__(self, story, answered_ms=(11, 12)):
        self.told = story()
        self.told.call(0, 1)
        self.rows = {}
        for n, answer_ms in enumerate(answered_ms):
            self.told.request([n], n, at_ms=10 + n)
            self.rows["request", n] = self.told.frames.pop()
            base = self.told.append([n], n)
            self.told.answer(n, base, at_ms=answer_ms)
            self.rows["response", n] = self.told.frames.pop()
            self.told.result(n, TIMED_OUT_MS + 1, outcome="info", error="NETWORK_EXCEPTION")
        self.told.close(1, TIMED_OUT_MS)
        self.told.fault("some_frame_fault", 0, 6_000)

    def ruled(self, kind, n, disposition, leaves_ms=None, **changes):
        """Apply a rule to a frame. It left, or its connection ended, at ``leaves_ms``, later than it arrived."""
        row = self.rows[kind, n]
        if leaves_ms is not None:
            left_ns = row.t_ns + int((leaves_ms - self._since_load_ms(row)) * MS)
            row = restruct(row, t_ns=left_ns, received_ns=row.t_ns)
        self.rows[kind, n] = restruct(
            row, disposition=disposition, fault="f" if disposition else None, **changes
        )
        return self

    def without(self, kind, n):
        del self.rows[kind, n]
        return self

    def evidence(self) -> Evidence:
        evidence = self.told.evidence()
        rows = sorted((*evidence.frames, *self.rows.values()), key=lambda row: row.t_ns)
        frames, stopped = passed_and_stopped(rows)
        return replace(evidence, frames=frames, blocked_frames=stopped)

    def _since_load_ms(self, row: Frame) -> int:
        return (row.t_ns - self.told.evidence().record.phases.load_ns) // MS


def accused(ruled):
    (finding,) = gave_up.CHECK.run(ruled.evidence())
    return finding.count


def test_client_is_accused_despite_a_lost_response(story):
    assert accused(Ruled(story).ruled("response", 0, Disposition.BLOCKED)) == 2


def test_client_is_accused_despite_a_lost_request(story):
    assert accused(Ruled(story).ruled("request", 0, Disposition.BLOCKED).without("response", 0)) == 2


def test_client_is_accused_despite_a_late_response(story):
    ruled = (
        Ruled(story).ruled("response", 0, Disposition.DELAYED, LATE_MS).ruled("response", 1, None, LATE_MS)
    )
    assert accused(ruled) == 2


def test_client_is_accused_despite_a_response_held_until_the_connection_ended(story):
    ruled = Ruled(story)
    for n in (0, 1):
        ruled.ruled("response", n, Disposition.BLOCKED, TIMED_OUT_MS)
    assert accused(ruled) == 2


def test_client_is_accused_despite_a_ghost_request(story):
    ruled = Ruled(story, answered_ms=(LATE_MS + 1, LATE_MS + 2))
    for n in (0, 1):
        ruled.ruled("request", n, Disposition.DELAYED, LATE_MS)
    assert accused(ruled) == 2


def test_client_is_accused_despite_an_unfinished_swap(story):
    assert accused(Ruled(story).ruled("response", 1, Disposition.DELAYED, LATE_MS)) == 2


def test_client_is_accused_despite_a_response_without_a_request(story):
    assert accused(Ruled(story).ruled("response", 0, Disposition.CHANGED, correlation_id=2**31 - 2)) == 2


@pytest.mark.parametrize(
    ("disposition", "leaves_ms"),
    [
        (None, None),
        (Disposition.DELAYED, LATE_MS),
        (Disposition.BLOCKED, None),
        (Disposition.BLOCKED, LATE_MS),
    ],
)
def test_slow_broker_is_detected_despite_every_rule(story, disposition, leaves_ms):
    ruled = Ruled(story, answered_ms=(11, 2_600)).ruled("response", 1, disposition, leaves_ms)
    (stall,) = broker_stalls(ruled.evidence())
    assert stall.end_ns - stall.begin_ns == 2_589 * MS
    assert accused(ruled) == 2


def test_silent_broker_is_detected_when_its_connection_ends(story):
    ruled = Ruled(story).without("response", 1)
    assert max(answer.length_ms for answer in slow_answers(ruled.evidence())) == TIMED_OUT_MS - 11
