"""What faults can do between a client and one broker at a given time, unseen by the witness.

The witness is at the broker's end of the path. A fault in front of it may delay bytes, discard them, or hide
that a connection has ended. The rows themselves show what a rule of the witness does. Each kind of fault is
an entry of ``EFFECTS``; a kind without an entry is assumed to have every effect. A fault counts for the
brokers whose proxies it was on, while it was in effect, and never for longer than it can delay a byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, NamedTuple

from harness.model.evidence import Evidence, view
from harness.model.rows import FaultRow
from harness.model.units import NS_PER_MS
from suites.analysis.excuses import grants

#: How long a byte may take that no fault delays, through busy processes on one machine. Each comparison of
#: the witness's times with the client's allows it once. A comparison needs no slack if one time is certainly
#: the earlier: the witness stamps an answer before it passes the answer on, it stamps a request after the
#: client sent it, and the interval of a fault begins before the fault does.
SLACK_NS: Final = 500 * NS_PER_MS


class Effect(Enum):
    """What a fault can do to bytes in front of the witness."""

    #: A request reaches the witness late: by the added latency, or else at the end of the fault.
    HOLDS_REQUESTS = auto()
    #: An answer reaches the client late after it passed the witness: by the added latency, or else at the end
    #: of the fault.
    HOLDS_ANSWERS = auto()
    #: An answer that passed the witness never reaches the client, though its connection may stay open for a
    #: while.
    LOSES_ANSWERS = auto()
    #: An attempt fails in front of the witness: its connection is not made, or its bytes are discarded.
    HIDES_ATTEMPTS = auto()
    #: The client's connection ends, but the witness's end of it does not, or ends much later.
    HIDES_ENDS = auto()
    #: Connections end.
    CUTS = auto()


_HOLDS = frozenset({Effect.HOLDS_REQUESTS, Effect.HOLDS_ANSWERS, Effect.HIDES_ENDS})
_ENDS = frozenset({Effect.HIDES_ATTEMPTS, Effect.CUTS})
_NOTHING: frozenset[Effect] = frozenset()
_ALL = frozenset(Effect)

EFFECTS: Final[Mapping[str, frozenset[Effect]]] = {
    "bandwidth": _HOLDS,
    "broker_kill": _ENDS,
    "broker_pause": _NOTHING,
    "broker_restart": _ENDS,
    "changed_error": _NOTHING,
    "close_at_frame": frozenset({Effect.CUTS}),
    "connect_timeout": _ENDS,
    "commit_now": _NOTHING,
    "compaction": _NOTHING,
    "coordinator_move": _NOTHING,
    "damaged_batch": _NOTHING,
    "disconnect": _ENDS,
    "dropped_frame": _NOTHING,
    "dropped_request": _ENDS,
    "dropped_response": frozenset({Effect.LOSES_ANSWERS, Effect.CUTS}),
    "duplicated_response": _NOTHING,
    "error_response": _NOTHING,
    "delayed_past_disconnect": frozenset({Effect.HOLDS_REQUESTS, Effect.HIDES_ENDS}),
    "half_open": _ENDS | {Effect.LOSES_ANSWERS, Effect.HIDES_ENDS},
    "accept_then_close": _ENDS,
    "held_frame": _NOTHING,
    "idle_kill": _ENDS,
    "illegal_calls": _NOTHING,
    "late_frame": _NOTHING,
    "late_response": frozenset({Effect.HOLDS_ANSWERS}),
    "latency": _HOLDS,
    "leader_move": _NOTHING,
    "listener_throws": _NOTHING,
    "log_trim": _NOTHING,
    "member_freeze": _ALL,
    "member_join": _NOTHING,
    "member_kill": _ENDS,
    "member_leave": _NOTHING,
    "message_size_limit": _NOTHING,
    "min_isr": _NOTHING,
    "open_transaction": _NOTHING,
    "partition": _ENDS | {Effect.LOSES_ANSWERS},
    "pause_partitions": _NOTHING,
    "producer_id_expiry": _NOTHING,
    "quota": _NOTHING,
    "refuse": _ENDS,
    "reset": _ENDS,
    "seek_back": _NOTHING,
    "sliced_frame": _NOTHING,
    "slicer": _HOLDS,
    "slow_processing": _NOTHING,
    "stale_metadata": _NOTHING,
    "swapped_responses": _NOTHING,
    "throttle": _NOTHING,
    "topic_growth": _NOTHING,
    "topic_recreate": _NOTHING,
    "torn_frame": frozenset({Effect.LOSES_ANSWERS, Effect.CUTS}),
    "unclean_election": _ALL,
    "unsupported_version": _NOTHING,
    "wakeup": _NOTHING,
    "wrong_correlation_id": _NOTHING,
}


class Fault(NamedTuple):
    """A fault that was in effect. ``brokers`` is empty for all brokers. It had no effect before ``requested_ns``."""

    kind: str
    begin_ns: int
    end_ns: int
    brokers: frozenset[int]
    effects: frozenset[Effect]
    up_ns: int = 0
    down_ns: int = 0
    requested_ns: int = 0

    def is_on(self, broker: int) -> bool:
        """True if the fault was on the path to that broker."""
        return not self.brokers or broker in self.brokers

    def meets(self, begin_ns: int, end_ns: int) -> bool:
        """True if the fault was in effect during this interval, or so shortly before it that its effect may last."""
        return self.begin_ns <= end_ns and begin_ns <= self.end_ns + SLACK_NS


@dataclass(frozen=True)
class Way:
    """The faults of one trial, by broker and time."""

    faults: tuple[Fault, ...]

    def during(self, broker: int, begin_ns: int, end_ns: int) -> bool:
        """True if a fault was in effect during this interval on the path to ``broker``."""
        return self.since_ns(broker, begin_ns, end_ns) is not None

    def since_ns(self, broker: int, begin_ns: int, end_ns: int) -> int | None:
        """Return when the first fault of this interval on the path to ``broker`` began, or None if there was none."""
        return min((fault.begin_ns for fault in self._met(broker, begin_ns, end_ns)), default=None)

    def requested_ns(self, broker: int, begin_ns: int, end_ns: int) -> int:
        """Return when the first fault of this interval on the path to ``broker`` was requested, or 0 if none."""
        return min((fault.requested_ns for fault in self._met(broker, begin_ns, end_ns)), default=0)

    def _met(self, broker: int, begin_ns: int, end_ns: int) -> Iterator[Fault]:
        return (fault for fault in self.faults if fault.is_on(broker) and fault.meets(begin_ns, end_ns))

    @grants("held-bytes", "latency")
    def sent_ns(self, broker: int, arrived_ns: int) -> int:
        """Return the earliest time, without slack, at which bytes can have been sent that arrived at ``arrived_ns``."""
        return self._before(broker, arrived_ns, Effect.HOLDS_REQUESTS)

    @grants("answer-lost", "answer-held")
    def reached_ns(self, broker: int, answered_ns: int, opened_ns: int | None = None) -> int | None:
        """Return by when an answer that passed the witness has reached the client, without slack.

        None if it may never have.

        A fault that ended before the connection was opened did not affect it.
        """
        faults = [fault for fault in self.faults if opened_ns is None or opened_ns < fault.end_ns]
        losses = (fault for fault in faults if self._can(fault, broker, Effect.LOSES_ANSWERS))
        if any(fault.meets(answered_ns, answered_ns + SLACK_NS) for fault in losses):
            return None
        reached_ns = answered_ns
        left = [fault for fault in faults if self._can(fault, broker, Effect.HOLDS_ANSWERS)]
        while (
            holds := next((fault for fault in left if fault.meets(answered_ns, reached_ns + SLACK_NS)), None)
        ) is not None:
            left.remove(holds)
            held_ns = reached_ns + holds.down_ns if holds.down_ns else holds.end_ns
            reached_ns = max(reached_ns, held_ns)
        return reached_ns

    def hidden(self) -> list[Fault]:
        """Return the faults during which attempts can fail in front of the witness."""
        return [fault for fault in self.faults if Effect.HIDES_ATTEMPTS in fault.effects]

    @grants("end-held")
    def ended_ns(self, broker: int, closed_ns: int) -> int:
        """Return the earliest time, without slack, at which a connection can have ended for the client.

        ``closed_ns`` is when the witness saw it end.
        """
        return self._before(broker, closed_ns, Effect.HIDES_ENDS)

    def _before(self, broker: int, seen_ns: int, effect: Effect) -> int:
        """Return the earliest time at which something seen at ``seen_ns`` can have happened, given the faults.

        Several faults can delay the same bytes one after the other.
        """
        happened_ns = seen_ns
        left = [fault for fault in self.faults if self._can(fault, broker, effect)]
        while (
            holds := next((fault for fault in left if fault.meets(happened_ns - fault.up_ns, seen_ns)), None)
        ) is not None:
            left.remove(holds)
            # A fault did not delay bytes that had passed before it began.
            since_ns = min(happened_ns, holds.begin_ns)
            happened_ns = max(since_ns, happened_ns - holds.up_ns) if holds.up_ns else since_ns
        return happened_ns

    def _can(self, fault: Fault, broker: int, effect: Effect) -> bool:
        return effect in fault.effects and fault.is_on(broker)


@view
def way(evidence: Evidence) -> Way:
    """Return the faults of this trial between the client and the brokers."""
    return Way(
        tuple([_fault(row, row.effective_ns) for row in evidence.faults if row.effective_ns is not None])
    )


def _fault(row: FaultRow, effective_ns: tuple[int, int]) -> Fault:
    spec = row.spec
    kept = _kept(spec.kind, spec.params)
    up_ms, down_ms = (
        (spec.params.get("upstream_ms", 0), spec.params.get("downstream_ms", 0))
        if spec.kind == "latency"
        else (0, 0)
    )
    return Fault(
        spec.kind,
        *effective_ns,
        frozenset(spec.brokers),
        EFFECTS.get(spec.kind, _ALL) - kept,
        up_ms * NS_PER_MS,
        down_ms * NS_PER_MS,
        effective_ns[0] if row.requested_ns is None else min(effective_ns[0], row.requested_ns[0]),
    )


def _kept(kind: str, params: Mapping[str, int]) -> frozenset[Effect]:
    """Return the effects that a kind of fault does not have with these parameters."""
    spares_requests = frozenset({Effect.HOLDS_REQUESTS, Effect.HIDES_ENDS})
    spares_answers = frozenset({Effect.HOLDS_ANSWERS})
    match kind:
        case "latency":
            return (_NOTHING if params.get("upstream_ms") else spares_requests) | (
                _NOTHING if params.get("downstream_ms") else spares_answers
            )
        case "bandwidth":
            return (_NOTHING if params.get("upstream_bytes_per_s") else spares_requests) | (
                _NOTHING if params.get("downstream_bytes_per_s") else spares_answers
            )
        case "torn_frame":
            return frozenset({Effect.LOSES_ANSWERS}) if params.get("upstream") else _NOTHING
        case "partition":
            if params.get("loud") or not params.get("downstream", 1):
                return frozenset({Effect.LOSES_ANSWERS})
            return _NOTHING if params.get("upstream", 1) else frozenset({Effect.HIDES_ATTEMPTS})
    return _NOTHING
