"""When time cannot be trusted: a client that was starved, or a broker that stood still, is nobody's broken promise.

Two witnesses. The client's heartbeat (``stats``, once a second): a gap of seconds means that its process did not run.
And the broker's answers as they pass the witness, where no fault of ours delays them: if one takes seconds there, the
broker stood still. Whoever is late then is not to blame, and a judgement about time is no judgement.
"""

from __future__ import annotations

from itertools import pairwise

from harness.check import Inconclusive
from harness.contract import ShutdownComplete, Stats
from harness.evidence import Evidence
from harness.rows import FrameKind

NS_PER_MS = 1_000_000
#: More than one missed heartbeat; below request.timeout.ms, whose running out is then no sign of anything.
STARVED_MS = 2_500
#: A broker on this machine answers within milliseconds.
SILENT_MS = 2_000


def longest_silence_ms(evidence: Evidence) -> int:
    """The longest time between two heartbeats, from the first event to the end; 0 for a client that sends none."""
    beats = [event.mono_ns for event in evidence.history if isinstance(event, Stats)]
    if not beats:
        return 0
    ended = [event.mono_ns for event in evidence.history if isinstance(event, ShutdownComplete)]
    end_ns = ended[0] if ended else evidence.record.phases.final_ns
    moments = sorted([evidence.history[0].mono_ns, *beats, *([end_ns] if end_ns else [])])
    return max((later - earlier) // NS_PER_MS for earlier, later in pairwise(moments))


def slowest_answer_ms(evidence: Evidence) -> int:
    """The longest that a request waited at the witness for the broker's answer, or for its connection's end."""
    waiting: dict[tuple[int, int | None], int] = {}
    slowest_ns = 0
    for frame in evidence.frames:
        if frame.kind is FrameKind.REQUEST:
            waiting[frame.conn, frame.correlation_id] = frame.t_ns
        elif frame.kind is FrameKind.RESPONSE:
            sent_ns = waiting.pop((frame.conn, frame.correlation_id), frame.t_ns)
            slowest_ns = max(slowest_ns, frame.t_ns - sent_ns)
        elif frame.kind is FrameKind.CLOSE:
            for request in [request for request in waiting if request[0] == frame.conn]:
                slowest_ns = max(slowest_ns, frame.t_ns - waiting.pop(request))
    return slowest_ns // NS_PER_MS


def doubt_if_disturbed(evidence: Evidence, what: str) -> None:
    """Raise Inconclusive, saying that ``what`` may be the machine's fault, if client or broker stood still."""
    if (silence_ms := longest_silence_ms(evidence)) > STARVED_MS:
        raise Inconclusive(f"{what}, but the client's process stood still for {silence_ms} ms meanwhile")
    if (answer_ms := slowest_answer_ms(evidence)) > SILENT_MS:
        raise Inconclusive(f"{what}, but the broker itself left a request unanswered for {answer_ms} ms")
