"""# gave-up

## What it does

Looks for records that the client reported as failed, or as unknown, although it had been told to retry without limit:
while their delivery timeout had not passed, or although it had the network to itself for long enough to deliver them.

## Why it is bad

A lost connection is what retries are for. A client that gives up at once hands the problem to the application, which
cannot know whether the record was written: sending it again may duplicate it, leaving it may lose it. A producer
that declares itself dead over a lost answer stops a service that a second's patience would have kept.

## How it is judged per guarantee

- **at-least-once, idempotent, transactional**: forbidden in scenarios whose faults are the network's alone and are
  over long before the delivery timeout.
- **at-most-once**: not judged; there retries are off.

## What it needs

The history and the faults as they were. A client that cannot set the number of retries or the delivery timeout, or
whose retries are limited, does not claim it: unsupported. A batch's time may count from its first record (KIP-91):
one that ends together, and with the same error, as an older record whose time was over was not given up.

Nor were the records of a batch that the broker refused as too large, one record or many: patience does not help them,
and whether the client should have made smaller batches is for ``unsplit`` to say. Nor those that failed because a
broker took their sequence for a wrong one, though it was the next: that is for ``unmended``. Nor was a record reported
as unknown that is in the log, and whose batch the broker, asked once more, called too large: nobody can find out that
it was stored (the size is looked at first, a smaller batch is another batch).

Where an answer came that was not for the oldest request, which no broker does, nothing says how a client goes on: it
must not take it for another (NET-INF-01), and Java's leaves the connection open, with everything for that broker
waiting. Then only what ended before its delivery timeout was given up.

Where its process or the broker stood still, a failure may stem from that, and is inconclusive. A call that
fails after max.block.ms was refused, not given up, unless the network was there all along. Long enough is
request.timeout.ms and reconnect.backoff.max.ms, one after the other, and five seconds more.

## References

PRD-SND-06 (a lost connection is retried like a retriable error), KIP-91. librdkafka before 2.5.0 gives up so now and
then: "Unable to reconstruct MessageSet", issue 4736, which names 2.2.0 as the first.
"""

from __future__ import annotations

from harness.anomaly import Anomaly
from harness.check import Check, Requirement
from harness.evidence import Evidence, Send
from harness.outcome import Level, Outcome
from harness.rows import Finding
from suites.checks.attempts import Attempt, attempts, batch_place, origins, sent_again
from suites.checks.contradicted import failed_over_it
from suites.checks.disturbance import NS_PER_MS, doubt_if_disturbed
from suites.checks.findings import listed_errors, of_send, require_settable, require_unlimited_retries
from suites.checks.promises import DURABLE
from suites.checks.too_large import TOO_LARGE, refusals
from suites.checks.turns import out_of_turn_ns

GAVE_UP = Anomaly("gave-up", "{count:record} given up over a network that came back ({errors})")
TIMEOUT = "delivery.timeout.ms"
#: A client may count its delivery timeout from a little earlier than the call, or round it down.
SLACK_MS = 1_000
RECOVERY_SLACK_MS = 5_000
#: The records of a batch end together; their results are stamped one after the other.
TOGETHER_NS = 50 * NS_PER_MS


def find(evidence: Evidence) -> list[Finding]:
    """At most one finding, counting records that were given up. Unsupported if the client cannot be told to go on."""
    require_settable(evidence, "retries", TIMEOUT)
    require_unlimited_retries(evidence)
    faults = sorted(row.effective_ns for row in evidence.faults if row.effective_ns is not None)
    expiries = _expiries(evidence)
    unknowable = _unknowable(evidence)
    elsewhere = {send.n for refusal in refusals(evidence) for send in refusal.failed} | set(
        failed_over_it(evidence)
    )
    given_up = [
        send
        for send in evidence.sends.values()
        if send.outcome is not Outcome.OK
        and send.n not in elsewhere
        and _given_up(evidence, send, faults, expiries)
        and not (send.outcome is Outcome.INFO and send.n in unknowable)
    ]
    if not given_up:
        return []
    found = GAVE_UP.found(len(given_up), map(of_send, given_up), errors=listed_errors(given_up))
    doubt_if_disturbed(evidence, found)
    return [found]


def _expiries(evidence: Evidence) -> dict[str | None, list[Send]]:
    """The records that ended when their delivery timeout had passed, by error."""
    limit_ns = (int(evidence.record.spec.config[TIMEOUT]) - SLACK_MS) * NS_PER_MS
    expired: dict[str | None, list[Send]] = {}
    for send in evidence.sends.values():
        if send.complete_ns is None or send.outcome is Outcome.OK:
            continue
        if send.complete_ns - send.invoke_ns >= limit_ns:
            expired.setdefault(send.error, []).append(send)
    return expired


def _unknowable(evidence: Evidence) -> set[int]:
    """The records in the log whose batch was sent again and then refused for its size."""
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


def _given_up(
    evidence: Evidence, send: Send, faults: list[tuple[int, int]], expiries: dict[str | None, list[Send]]
) -> bool:
    if send.complete_ns is None:
        return False
    config = evidence.record.spec.config
    took_ms = (send.complete_ns - send.invoke_ns) // NS_PER_MS
    recovery_ms = (
        int(config["request.timeout.ms"]) + int(config["reconnect.backoff.max.ms"]) + RECOVERY_SLACK_MS
    )
    at_peace_ms = _longest_peace_ms(send.invoke_ns, send.complete_ns, faults)
    if at_peace_ms >= recovery_ms and not out_of_turn_ns(evidence):
        return True
    blocked = send.outcome is Outcome.FAIL and took_ms >= int(config["max.block.ms"]) - SLACK_MS
    expired = any(
        abs(send.complete_ns - (older.complete_ns or 0)) <= TOGETHER_NS and older.invoke_ns <= send.invoke_ns
        for older in expiries.get(send.error, ())
    )
    return took_ms < int(config[TIMEOUT]) - SLACK_MS and not blocked and not expired


def _longest_peace_ms(begin_ns: int, end_ns: int, faults: list[tuple[int, int]]) -> int:
    """The longest stretch of a record's life in which no fault was in effect."""
    longest_ns, free_from_ns = 0, begin_ns
    for fault_begin_ns, fault_end_ns in faults:
        longest_ns = max(longest_ns, min(fault_begin_ns, end_ns) - free_from_ns)
        free_from_ns = max(free_from_ns, fault_end_ns)
    return max(longest_ns, end_ns - free_from_ns) // NS_PER_MS


CHECK = Check(
    name="gave-up",
    summary="Records that the client gave up, over a network that came back.",
    requirements=(Requirement("PRD-SND-06", Level.MUST),),
    guarantees=DURABLE,
    channels=frozenset({"history"}),
    mutant="gives_up_on_disconnect",
    find=find,
)
