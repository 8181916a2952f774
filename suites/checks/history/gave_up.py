"""# gave-up

## What it does

Looks for records that the client reported as failed or as unknown although it had been told to retry without
limit. The client either gave them up before their delivery timeout had passed, or had an undisturbed network
for long enough to deliver them.

## Why it is bad

Retries exist for lost connections. A client that gives up at once hands the problem to the application, which
cannot know whether the record was written: sending it again may duplicate it, and leaving it may lose it. A
producer that fails permanently after a lost answer stops a service that waiting for a second would have kept
running.

## How it is judged per guarantee

- **at-least-once, idempotent, transactional**: forbidden if the client was given its limits. A client that
  cannot set the number of retries or the delivery timeout is judged by the settings that it accepted. That it
  gave up records is then a difference, reported with their share.
- **at-most-once**: not judged; retries are off.

If retries are limited, the client was asked to give up: unsupported.

## What it needs

The history, the faults as they happened, and the witness's frames. A batch's delivery timeout may count from
its first record (KIP-91). A record was therefore not given up if it ended together, and with the same error,
as the record before it in its partition whose delivery timeout had passed.

These records were not given up either:

- The records of a batch that the broker refused as too large, whether one or many. Waiting does not help
  them, and ``oversized-batch-not-split`` judges whether the client should have made smaller batches.
- Records that failed because a broker refused their sequence although it was right: see
  ``sequence-not-recovered``.
- A record reported as unknown that is in the log, and whose batch the broker called too large when it was
  sent again. The client cannot find out that it was stored: the broker checks the size first, and a smaller
  batch is a different batch.

If the client fails a refused batch together with the records after it in its partition, although their own
batches were fine, this is a difference: ``gave-up-behind-refusal`` (franz-go keeps the order this way).

A record whose delivery timeout had passed was given up too if the network was available for long enough to
deliver it: request.timeout.ms plus reconnect.backoff.max.ms plus five seconds, with no fault on the way to
its broker. A connection on which an answer arrived that was not for the oldest request does not count as
available until it ends, since real brokers never do that and no specification says how a client continues.
Records that were pending then may wait until their delivery timeout. That is a difference,
``given-up-out-of-turn`` (the Java client does so, also for records on other connections).

A stall of the client process or of a broker makes the result inconclusive for records that were pending at
that time. So does a machine on which the harness was late, even by many short stalls. A call that fails after
max.block.ms within its delivery timeout was refused, not given up. It counts as given up if the network was available
for long enough meanwhile, unless the client sent its first request later: a busy machine may take that long to start
a client.

## References

PRD-SND-06 (a lost connection is retried like a retriable error), KIP-91. librdkafka before 2.5.0 occasionally
gives up like this: "Unable to reconstruct MessageSet", issue 4736, which names 2.2.0 as the first.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from harness.judging.availability import Span, merged
from harness.model.anomaly import Anomaly, ReasonKind
from harness.model.evidence import Evidence, Operation
from harness.model.rows import Finding, FrameKind
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level, Outcome
from harness.plugins.check import Check, Inconclusive, Requirement
from suites.analysis.attempts import Attempt, attempts, batch_place, origins, sent_again
from suites.analysis.backlog import was_queued
from suites.analysis.contradicted import failed_over_it
from suites.analysis.disturbance import (
    HARNESS_STALLED,
    broker_stalls,
    client_stalls,
    harness_stalls,
    late_harness,
    stalled_by,
    stalled_ns,
)
from suites.analysis.excuses import grants
from suites.analysis.failures import failed_attempts, paths
from suites.analysis.findings import listed_errors, of_send, require_unlimited_retries
from suites.analysis.homes import home
from suites.analysis.promises import DURABLE
from suites.analysis.response_order import out_of_turn_ns
from suites.analysis.too_large import TOO_LARGE, refusals
from suites.analysis.way import way

GAVE_UP = Anomaly("gave-up", "{count:record} given up although the network had recovered ({errors})")
GAVE_UP_EARLY = Anomaly(
    "gave-up-early",
    "{count:record} given up although the network had recovered ({errors}): {told} of all; the "
    "client cannot set {lacks}",
    Level.SHOULD,
)
STRANDED = Anomaly(
    "given-up-out-of-turn",
    "{count:record} expired although the network had recovered, because answers had arrived out "
    "of order ({errors})",
    Level.SHOULD,
)
BEHIND = Anomaly(
    "gave-up-behind-refusal",
    "{count:record} failed together with the batch before them, which alone was too large ({errors})",
    Level.SHOULD,
)
OVERLOADED = ReasonKind(
    "load-beyond-client",
    "{count:record} reached the delivery timeout behind others that the client was delivering: the load is more than it"
    " can deliver",
)
TIMEOUT = "delivery.timeout.ms"
LIMITS = ("retries", TIMEOUT)
#: A client may start its delivery timeout slightly before the call, or round it down.
SLACK_MS = 1_000
#: For what the settings do not bound: finding the cluster again, and load on the machine.
RECOVERY_SLACK_MS = 5_000
#: The records of a batch end together, but their results are stamped one after the other.
TOGETHER_NS = 50 * NS_PER_MS
NEVER_NS = 2**63

_Spans = list[tuple[int, int]]


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the records that were given up. Unsupported if retries are limited."""
    require_unlimited_retries(evidence)
    limits = _Limits(evidence)
    elsewhere = {send.n for refusal in refusals(evidence) for send in refusal.failed} | set(
        failed_over_it(evidence)
    )
    failed = [
        send
        for send in evidence.operations.values()
        if send.outcome is not Outcome.OK and send.complete_ns is not None and send.n not in elsewhere
    ]
    unknowable = _unknowable(evidence) if failed else set()
    failed = [send for send in failed if send.outcome is Outcome.FAIL or send.n not in unknowable]
    stranded = _stranded(evidence, limits.delivery_ns) if failed else set()
    given_up = [
        send for send in failed if limits.in_time(send) or (send.n not in stranded and limits.in_peace(send))
    ]
    queued = [send for send in given_up if limits.queued(send)]
    given_up = [send for send in given_up if not limits.queued(send)]
    behind = _behind(evidence, given_up) if given_up else set()
    found = []
    if accused := [send for send in given_up if send.n not in behind]:
        found.append(_found(evidence, accused))
    if carried := [send for send in given_up if send.n in behind]:
        found.append(BEHIND.found(len(carried), map(of_send, carried), errors=listed_errors(carried)))
    if found:
        return found
    if left := [send for send in failed if send.n in stranded and limits.in_peace(send)]:
        return [STRANDED.found(len(left), map(of_send, left), errors=listed_errors(left))]
    if queued:
        told = OVERLOADED.reason(count=len(queued), of=GAVE_UP.code)
        raise Inconclusive(told)
    if doubted := next((send for send in failed if limits.in_peace(send, but_for_stalls=True)), None):
        raise _doubt(evidence, doubted)
    return []


def _found(evidence: Evidence, given_up: list[Operation]) -> Finding:
    errors, samples = listed_errors(given_up), map(of_send, given_up)
    lacks = tuple(setting for setting in LIMITS if setting in evidence.record.not_set)
    if not lacks:
        return GAVE_UP.found(len(given_up), samples, errors=errors)
    share = f"{len(given_up) / len(evidence.operations):.1%}"
    return GAVE_UP_EARLY.found(len(given_up), samples, told=share, errors=errors, lacks=lacks)


def _doubt(evidence: Evidence, send: Operation) -> Inconclusive:
    told = f"record {send.n} was given up although the network was available"
    life = send.invoke_ns, send.complete_ns or send.invoke_ns
    late_ms = stalled_ns(harness_stalls(evidence), *life) // NS_PER_MS
    kind, stalled_ms = stalled_by(evidence, *life) or (HARNESS_STALLED, late_ms)
    return Inconclusive(kind.reason(of=GAVE_UP.code, told=told, stalled_ms=stalled_ms))


@dataclass(frozen=True)
class _Limits:
    """The limits that the client was given, and which records ended before them."""

    evidence: Evidence
    _merged: dict[tuple[int | None, bool], _Spans] = field(default_factory=dict)

    @cached_property
    def _config(self) -> Mapping[str, str | int | bool]:
        return self.evidence.record.spec.config

    @cached_property
    def delivery_ns(self) -> int:
        """How long a record may take, minus the amount that clients round."""
        return (int(self._config[TIMEOUT]) - SLACK_MS) * NS_PER_MS

    @cached_property
    def _recovery_ns(self) -> int:
        request_ms, backoff_ms = self._config["request.timeout.ms"], self._config["reconnect.backoff.max.ms"]
        return (int(request_ms) + int(backoff_ms) + RECOVERY_SLACK_MS) * NS_PER_MS

    def in_time(self, send: Operation) -> bool:
        """True if the record ended before its delivery timeout and not together with an expired batch."""
        return _took_ns(send) < self.delivery_ns and not self._blocked(send) and send.n not in self._expired

    @grants("network-was-not-free", "process-stalled")
    def in_peace(self, send: Operation, *, but_for_stalls: bool = False) -> bool:
        """True if the record failed although its path was free for long enough. ``but_for_stalls`` ignores stalls."""
        partition, end_ns = home(self.evidence, send), send.complete_ns or send.invoke_ns
        if self._blocked(send) and end_ns < self._first_request_ns:
            return False
        spans = self._not_free(partition, but_for_stalls)
        # Of merged spans, only those that reach into the record's life matter.
        first = max(0, bisect_left(spans, (send.invoke_ns, 0)) - 1)
        inside = spans[first : bisect_left(spans, (end_ns, 0))]
        return _longest_peace_ns(send.invoke_ns, end_ns, inside) >= self._recovery_ns

    def queued(self, send: Operation) -> bool:
        """True if the record reached its delivery timeout behind others that the client was delivering."""
        return _took_ns(send) >= self.delivery_ns and was_queued(self.evidence, send, self._recovery_ns)

    def _not_free(self, partition: int | None, but_for_stalls: bool) -> _Spans:
        """Return when the path to a partition was not free, merged and in order. Many records have the same path."""
        known = self._merged.get((partition, but_for_stalls))
        if known is None:
            spans = [Span(*span) for span in self._troubles(partition)]
            if not but_for_stalls:
                stalls = (client_stalls, broker_stalls, late_harness)
                spans += [span for told in stalls for span in told(self.evidence)]
            known = [(span.begin_ns, span.end_ns) for span in merged(spans)]
            self._merged[partition, but_for_stalls] = known
        return known

    @grants("blocked-call")
    def _blocked(self, send: Operation) -> bool:
        """True if the call was refused after it had blocked."""
        limit_ns = (int(self._config["max.block.ms"]) - SLACK_MS) * NS_PER_MS
        return send.outcome is Outcome.FAIL and _took_ns(send) >= limit_ns

    @cached_property
    def _first_request_ns(self) -> int:
        """When the client first said anything: until then it was still starting. 0 if it never did."""
        frames = (*self.evidence.frames, *self.evidence.blocked_frames)
        return min((frame.arrived_ns for frame in frames if frame.kind is FrameKind.REQUEST), default=0)

    @cached_property
    @grants("expired-with-its-batch")
    def _expired(self) -> set[int]:
        """The records that ended together with an expired batch, one by one from its first record on.

        A record that was acknowledged, or that ended at another time or with another result, ends the batch.
        """
        found: set[int] = set()
        roots: dict[int | None, Operation] = {}
        for _, send in sorted(self.evidence.operations.items()):
            partition = home(self.evidence, send)
            root = roots.get(partition)
            if send.outcome is Outcome.OK or send.complete_ns is None:
                roots.pop(partition, None)
            elif root is not None and _ended_with(send, root):
                found.add(send.n)
            elif _took_ns(send) >= self.delivery_ns:
                roots[partition] = send
                found.add(send.n)
            else:
                roots.pop(partition, None)
        return found

    def _troubles(self, partition: int | None) -> _Spans:
        """Return when the path to a partition's broker was not free.

        It is not free during faults, and while the answers of its connection are out of order.
        """
        path = paths(self.evidence).get(partition) if partition is not None else None
        brokers = None if path is None else path.brokers
        spans = [
            (fault.begin_ns, fault.end_ns)
            for fault in way(self.evidence).faults
            if brokers is None or not fault.effects or any(fault.is_on(broker) for broker in brokers)
        ]
        ends = {attempt.conn: attempt.closed_ns for attempt in attempts(self.evidence)}
        for conn, from_ns in out_of_turn_ns(self.evidence).items():
            if path is None or conn in path.conns:
                closed_ns = ends.get(conn)
                spans.append((from_ns, NEVER_NS if closed_ns is None else max(from_ns, closed_ns)))
        return spans


def _ended_with(send: Operation, root: Operation) -> bool:
    apart_ns = abs((send.complete_ns or 0) - (root.complete_ns or 0))
    return apart_ns <= TOGETHER_NS and send.error == root.error and root.invoke_ns <= send.invoke_ns


def _took_ns(send: Operation) -> int:
    return (send.complete_ns or send.invoke_ns) - send.invoke_ns


@grants("behind-too-large")
def _behind(evidence: Evidence, given_up: Iterable[Operation]) -> set[int]:
    """Return the records that the client failed together with the batch before them.

    They have its partition, end at the same time, and have the same error.
    """
    refused = [refusal for refusal in refusals(evidence) if refusal.failed]
    return {
        send.n
        for send in given_up
        for refusal in refused
        if home(evidence, send) == refusal.attempt.part.partition
        and send.error == refusal.failed[0].error
        and send.invoke_ns <= (refusal.attempt.answered_ns or 0)
        and abs((send.complete_ns or 0) - (refusal.failed[0].complete_ns or 0)) <= TOGETHER_NS
    }


@grants("answers-out-of-turn")
def _stranded(evidence: Evidence, delivery_ns: int) -> set[int]:
    """Return the records that were pending while a client had to handle an answer that was not for its oldest request.

    The connection does not matter: a client that fails while reading one answer may lose answers that it had
    read on other connections. It may keep the batches that it had then, and others after them, until their
    delivery timeout.
    """
    closed = {attempt.conn: attempt.closed_ns for attempt in attempts(evidence)}
    spans = [
        (from_ns, NEVER_NS if (end_ns := closed.get(conn)) is None else max(from_ns, end_ns) + delivery_ns)
        for conn, from_ns in out_of_turn_ns(evidence).items()
    ]
    return {
        send.n
        for send in evidence.operations.values()
        if any(
            send.invoke_ns <= end_ns and from_ns <= (send.complete_ns or NEVER_NS)
            for from_ns, end_ns in spans
        )
    }


@grants("stored-then-too-large")
def _unknowable(evidence: Evidence) -> set[int]:
    """Return the records in the log whose batch was sent again and then refused for its size."""
    made = attempts(evidence)
    if not any(attempt.error_code == TOO_LARGE for attempt in made):
        return set()
    again = sent_again(made)
    places = {place for place, origin in origins(evidence).items() if _is_too_large_later(origin, again)}
    return {n for n, copies in evidence.copies.items() if any(batch_place(copy) in places for copy in copies)}


def _is_too_large_later(attempt: Attempt, again: dict[Attempt, Attempt]) -> bool:
    while (later := again.get(attempt)) is not None:
        if later.error_code == TOO_LARGE:
            return True
        attempt = later
    return False


def _longest_peace_ns(begin_ns: int, end_ns: int, spans: Iterable[tuple[int, int]]) -> int:
    """Return the longest part of a record's life that lies in none of these intervals."""
    longest_ns, free_from_ns = 0, begin_ns
    for trouble_begin_ns, trouble_end_ns in sorted(spans):
        longest_ns = max(longest_ns, min(trouble_begin_ns, end_ns) - free_from_ns)
        free_from_ns = max(free_from_ns, trouble_end_ns)
    return max(longest_ns, end_ns - free_from_ns)


CHECK = Check(
    name="gave-up",
    summary="Records that the client gave up although the network recovered.",
    requirements=(Requirement("PRD-SND-06", Level.MUST, arises=failed_attempts),),
    guarantees=DURABLE,
    requires=frozenset({"history", "frames", "faults"}),
    killed_mutant="gives_up_on_disconnect",
    run=run,
)
