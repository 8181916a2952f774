"""Whether the broker stood still is seen in what it did, not in what a rule at the witness did with its answers.

A client that gives its records up after one request timeout is to blame in every one of the scenarios on single
frames; it is not where the broker itself took so long.
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
    """Two batches sent at 10 and 11 ms on one connection, answered a millisecond later unless said otherwise.

    The client gives both up when the first has timed out, closes, and goes on.
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
        """What became of a frame: ``leaves_ms`` where it left, or the connection ended, later than it came."""
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


def test_lost_answer(story):
    assert accused(Ruled(story).ruled("response", 0, Disposition.BLOCKED)) == 2


def test_lost_request(story):
    assert accused(Ruled(story).ruled("request", 0, Disposition.BLOCKED).without("response", 0)) == 2


def test_late_answer_and_the_one_behind_it(story):
    ruled = (
        Ruled(story).ruled("response", 0, Disposition.DELAYED, LATE_MS).ruled("response", 1, None, LATE_MS)
    )
    assert accused(ruled) == 2


def test_late_answer_that_the_end_of_its_connection_found_waiting(story):
    ruled = Ruled(story)
    for n in (0, 1):
        ruled.ruled("response", n, Disposition.BLOCKED, TIMED_OUT_MS)
    assert accused(ruled) == 2


def test_ghost_request(story):
    ruled = Ruled(story, answered_ms=(LATE_MS + 1, LATE_MS + 2))
    for n in (0, 1):
        ruled.ruled("request", n, Disposition.DELAYED, LATE_MS)
    assert accused(ruled) == 2


def test_swapped_answer_that_nothing_followed(story):
    assert accused(Ruled(story).ruled("response", 1, Disposition.DELAYED, LATE_MS)) == 2


def test_strange_answer(story):
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
def test_a_broker_that_was_slow_itself_is_seen_behind_every_rule(story, disposition, leaves_ms):
    ruled = Ruled(story, answered_ms=(11, 2_600)).ruled("response", 1, disposition, leaves_ms)
    (stall,) = broker_stalls(ruled.evidence())
    assert stall.end_ns - stall.begin_ns == 2_589 * MS
    assert accused(ruled) == 2


def test_a_broker_that_never_answered_is_seen_when_its_connection_ends(story):
    ruled = Ruled(story).without("response", 1)
    assert max(answer.length_ms for answer in slow_answers(ruled.evidence())) == TIMED_OUT_MS - 11
