"""Why a client sent a batch again, as far as the witness can tell: the rules of E2E-DEL-03.

A retry needs a cause, and the cause must have come before it:

- the broker answered the earlier attempt with an error; or
- the earlier attempt's connection ended before its answer can have reached the client; or
- no answer reached the client within request.timeout.ms.

All of this counts from when the client sent, not from when a rule of the witness let a request go on; what a fault
kept on its way may have been sent when the fault began.

An answer that passed the witness may still be lost on its way: during a fault that withholds bytes, because the
connection ended while the answer was in transit, or because it came out of turn (:mod:`suites.checks.turns`). Nothing
explains a retry of a record that the client had reported as written already. Every comparison of two moments allows
``SLACK_NS``: rows of different connections are stamped by one busy process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from harness.evidence import Evidence
from harness.outcome import Outcome
from harness.rows import FrameKind, LogRecord
from suites.checks.attempts import PRODUCE, Attempt, BatchPlace, attempts, batch_place, origins
from suites.checks.disturbance import NS_PER_MS
from suites.checks.turns import out_of_turn_ns

SLACK_NS = 500 * NS_PER_MS
#: Faults that lose an answer only together with its connection. Of any other kind we assume that it may withhold
#: answers: rather a duplicate too many explained than a client accused wrongly.
NEVER_WITHHOLDS = frozenset({"latency", "disconnect", "reset", "refuse"})
#: Faults in which an attempt can fail between client and proxy, where the witness sees nothing of it: nobody is let in,
#: or what is sent is thrown away or held. Of all others an end, an answer or a stopped frame is seen.
OUT_OF_SIGHT = frozenset(
    {
        "broker_kill",
        "broker_restart",
        "connect_timeout",
        "dropped_request",
        "ghost_request",
        "half_open",
        "hang_up",
        "idle_kill",
        "partition",
        "refuse",
    }
)
#: Faults that keep requests on their way, so that the witness sees later than they were sent.
KEEPS_REQUESTS = frozenset({"bandwidth", "ghost_request", "slicer"})
REQUEST_TIMEOUT = "request.timeout.ms"


@dataclass(frozen=True)
class Explainer:
    """The rules, applied to the evidence of one trial."""

    evidence: Evidence

    @cached_property
    def attempts(self) -> list[Attempt]:
        """All Produce attempts in the order of time."""
        return attempts(self.evidence)

    @cached_property
    def _origins(self) -> dict[BatchPlace, Attempt]:
        return origins(self.evidence, self.attempts)

    @cached_property
    def _withheld(self) -> list[tuple[int, int]]:
        return [span for kind, span in self._faults if kind not in NEVER_WITHHOLDS]

    @cached_property
    def _disturbed(self) -> list[tuple[int, int]]:
        return [span for _, span in self._faults]

    @cached_property
    def _kept(self) -> list[tuple[int, int]]:
        return [span for kind, span in self._faults if kind in KEEPS_REQUESTS]

    @cached_property
    def _transit_ns(self) -> int:
        """The longest that bytes may take between client and witness, one way."""
        beds = (row.spec.params for row in self.evidence.faults if row.spec.kind == "latency")
        return SLACK_NS + sum(max(bed.values(), default=0) for bed in beds) * NS_PER_MS

    @cached_property
    def _failures(self) -> list[int]:
        """When anything failed on the lane: a connection ended, a Produce error passed, a request timed out.

        Or a client connected anew: the end of its own connection may be hidden by a fault that keeps one side of it.
        A request that a rule stopped times out as well.
        """
        frames, limit_ns = self.evidence.frames, self._timeout_ns
        ends = [frame.t_ns for frame in frames if frame.kind is FrameKind.CLOSE] + self._connected_anew
        errors = [frame.t_ns for frame in frames if frame.api == PRODUCE and frame.error_codes]
        late = [a for a in self.attempts if a.answered_ns is None or a.answered_ns - a.asked_ns >= limit_ns]
        stopped = [frame.arrived_ns for frame in self.evidence.stopped if frame.kind is FrameKind.REQUEST]
        return ends + errors + [asked_ns + limit_ns for asked_ns in (*(a.asked_ns for a in late), *stopped)]

    @cached_property
    def _out_of_sight(self) -> list[tuple[int, int]]:
        """When an attempt could fail between client and proxy, where the witness sees nothing of it."""
        return [span for kind, span in self._faults if kind in OUT_OF_SIGHT]

    @property
    def _faults(self) -> list[tuple[str, tuple[int, int]]]:
        """The kinds that were in effect, and from when to when."""
        rows = self.evidence.faults
        return [(row.spec.kind, row.effective_ns) for row in rows if row.effective_ns is not None]

    @property
    def _connected_anew(self) -> list[int]:
        opened: dict[int, list[int]] = {}
        for frame in self.evidence.frames:
            if frame.kind is FrameKind.OPEN:
                opened.setdefault(frame.broker, []).append(frame.t_ns)
        return [t_ns for moments in opened.values() for t_ns in moments[1:]]

    def origin(self, record: LogRecord) -> Attempt | None:
        """The attempt that put ``record`` into the log, None if the witness saw none that can have."""
        return self._origins.get(batch_place(record))

    def why_not(self, n: int, copies: Sequence[LogRecord]) -> str | None:
        """None if every further copy of record ``n`` is explained, else the half-sentence that says what is not."""
        made = [self.origin(copy) for copy in copies]
        known = sorted((attempt for attempt in made if attempt is not None), key=lambda a: a.asked_ns)
        if len(known) < len(made):
            return "no Produce request that the witness saw put it there"
        if len(set(known)) < len(known):
            return "it was twice in one request"
        for earlier, later in pairwise(known):
            if self._told_before(n, later):
                return "it was sent again after it had been reported as written"
            if not self._caused(earlier, later) and not self._caused_in_reverse(earlier, later):
                return "it was sent again although nothing was wrong with the earlier request"
        return None

    def overtaking_is_explained(self, n: int, record: LogRecord) -> bool:
        """True if something failed between the call that sent ``n`` and the request that brought its first copy.

        The attempt that was lost need not have reached the witness, so any failure on the lane will do.
        """
        send, origin = self.evidence.sends[n], self.origin(record)
        until_ns = (origin.sent_ns if origin else send.complete_ns or send.invoke_ns) + self._transit_ns
        from_ns = send.invoke_ns - SLACK_NS
        return any(from_ns <= t_ns <= until_ns for t_ns in self._failures) or any(
            from_ns <= end_ns and begin_ns <= until_ns for begin_ns, end_ns in self._out_of_sight
        )

    @property
    def _timeout_ns(self) -> int:
        return int(self.evidence.record.spec.config[REQUEST_TIMEOUT]) * NS_PER_MS

    def _told_before(self, n: int, attempt: Attempt) -> bool:
        send = self.evidence.sends.get(n)
        if send is None or send.complete_ns is None or send.outcome is not Outcome.OK:
            return False
        return send.complete_ns < attempt.asked_ns - self._transit_ns

    def _caused(self, earlier: Attempt, later: Attempt) -> bool:
        if earlier.answered_ns is not None and earlier.error_code != 0:
            return True
        return self._lost_with_connection(earlier, later) or self._timed_out(earlier, later)

    def _caused_in_reverse(self, earlier: Attempt, later: Attempt) -> bool:
        """True if ``later`` may be the older one: bytes held back on a dead connection can pass after the retry."""
        return later.asked_ns - earlier.asked_ns <= self._transit_ns and self._caused(later, earlier)

    def _lost_with_connection(self, earlier: Attempt, later: Attempt) -> bool:
        if earlier.closed_ns is None or earlier.closed_ns > later.asked_ns + self._transit_ns:
            return False
        answered_ns, closed_ns = earlier.answered_ns, earlier.closed_ns
        if answered_ns is None or self._may_be_withheld(answered_ns):
            return True
        if answered_ns >= out_of_turn_ns(self.evidence).get(earlier.conn, answered_ns + 1):
            return True
        came_too_late = closed_ns <= answered_ns
        if came_too_late and self._is_overdue(earlier.conn, closed_ns):
            return True
        # In peace an answer arrives: a client that hangs up after it has nobody but itself to blame. One that is
        # still recovering from a fault may give a connection up with requests on it.
        after_ns = SLACK_NS + self._timeout_ns * came_too_late
        disturbed = any(b - SLACK_NS <= closed_ns and answered_ns <= e + after_ns for b, e in self._disturbed)
        return disturbed and closed_ns <= answered_ns + self._transit_ns

    def _is_overdue(self, conn: int, t_ns: int) -> bool:
        """True if some request on the connection had waited for its answer for the whole request timeout by then."""
        asked = (attempt for attempt in self.attempts if attempt.conn == conn)
        limit_ns = self._timeout_ns - self._transit_ns
        return any(
            attempt.asked_ns + limit_ns <= t_ns and (attempt.answered_ns or t_ns) >= t_ns for attempt in asked
        )

    def _timed_out(self, earlier: Attempt, later: Attempt) -> bool:
        limit_ns = self._timeout_ns - self._transit_ns
        asked_ns, answered_ns = self._asked_at_the_earliest_ns(earlier), earlier.answered_ns
        in_time = answered_ns is not None and answered_ns - asked_ns < limit_ns
        lost = not in_time or self._may_be_withheld(answered_ns or 0)
        return later.asked_ns - asked_ns >= limit_ns and lost

    def _asked_at_the_earliest_ns(self, attempt: Attempt) -> int:
        begins = (begin for begin, end in self._kept if begin <= attempt.asked_ns <= end + SLACK_NS)
        return min((attempt.asked_ns, *begins))

    def _may_be_withheld(self, t_ns: int) -> bool:
        return any(begin - SLACK_NS <= t_ns <= end + SLACK_NS for begin, end in self._withheld)
