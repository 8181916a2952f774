"""# duplicate

## What it does

Looks for records that are in the log more than once, and for the Produce request that wrote each additional copy.

## Why it is bad

An order is executed twice, or an amount is booked twice. A client that claims idempotence promises that this
cannot happen. A client that does not claim it may still write a record again only if it could not know that
the record was written.

## How it is judged per guarantee

- **idempotent, transactional**: forbidden. One additional copy is enough, whatever its cause.
- **at-least-once**: allowed if explained. Each additional copy must have been written by a Produce request
  that the witness saw, and the client must have had a reason to send the record again at that time: the
  earlier request had been answered with an error, its connection had ended before the answer can have
  arrived, or no answer arrived within request.timeout.ms. If nothing was wrong with that request, but another
  attempt failed on the record's path, the copy was avoidable: a difference, not a failure. The other attempt
  may concern another batch of the partition, another request on the connection, or another partition of the
  request. It must have failed after the record was handed over, and no longer than request.timeout.ms before
  the earlier request was sent. If nothing failed there either, or the record had been reported as written, it
  is a failure.
- **at-most-once**: not judged; no catalogued behaviour forbids it.

## What it needs

The log and, for at-least-once, the witness's frames and the faults as they happened. Attempts are ordered by
when the client can have sent them, not by when their bytes reached the witness. Bytes that a fault delayed
may have been sent long before, on a connection that the client has left since.

An unexplained copy is inconclusive in three cases:

- Something passed unread on the way to the partition's broker during the record's life.
- The client's process stalled, and a request may have timed out although its answer had arrived unread.
- The harness itself was late during the record's life, which ends when the record is reported as written.

Two times from different connections are compared with half a second of slack.

## References

E2E-DEL-02, E2E-DEL-03, PRD-SND-06, PRD-IDM-03, PRD-IDM-05 (KIP-98). Jepsen's ``duplicate``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from harness.model.anomaly import Anomaly, ReasonKind
from harness.model.evidence import Evidence
from harness.model.rows import Finding, LogRecord, Reason
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Guarantee, Level
from harness.plugins.check import Check, Inconclusive, Requirement
from harness.text.counting import some
from harness.workloads.produce import accounting
from suites.analysis.disturbance import CLIENT_STALLED, HARNESS_STALLED, client_stalls, harness_stalled_ms
from suites.analysis.excuses import grants
from suites.analysis.failures import failed_attempts
from suites.analysis.findings import UNREADABLE, of_copies
from suites.analysis.promises import AT_LEAST_ONCE, DURABLE, EXACTLY_ONCE
from suites.analysis.renumbered import renumbered
from suites.analysis.retry_cause import CODES, SAID, Cause, Explainer, Explanation, Why
from suites.analysis.sending import REQUEST_TIMEOUT, sending
from suites.analysis.unread import unread_about
from suites.analysis.way import SLACK_NS

DUPLICATE = Anomaly(
    "duplicate", "{records:record} more than once in the log, {count:surplus copy} in all{told}"
)
UNEXPLAINED = Anomaly(
    "unexplained-duplicate", "{count:record} more than once in the log for no reason: {told}"
)
AVOIDABLE = Anomaly(
    "avoidable-duplicate",
    "{count:record} sent again although only another attempt on their path had failed",
    Level.SHOULD,
)
NO_TIMEOUT = ReasonKind(
    "request-timeout-unknown", "{of}: {told}, but the client's request timeout is unknown"
)

_Explained = Mapping[int, Explanation]


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each anomaly.

    It counts surplus copies if all copies are forbidden, and otherwise records by what explains them.
    Inconclusive if unknown facts might explain every copy that is otherwise unexplained.
    """
    duplicates = accounting.duplicates(evidence)
    if evidence.record.spec.guarantee is Guarantee.AT_LEAST_ONCE:
        return _judged(evidence, duplicates)
    if not duplicates:
        return []
    surplus = accounting.surplus(evidence)
    samples = (of_copies(n, copies) for n, copies in duplicates.items())
    return [DUPLICATE.found(surplus, samples, records=len(duplicates), told=_again(evidence, duplicates))]


def _again(evidence: Evidence, duplicates: dict[int, list[LogRecord]]) -> str:
    """Return how the copies of an idempotent producer could be stored: brokers refuse a batch that they know."""
    by_way = {
        "a new sequence": renumbered(evidence).keys() & duplicates.keys(),
        "a new epoch": {n for n, copies in duplicates.items() if _have_several_epochs(copies)},
    }
    found = [
        f"{'' if len(numbers) == len(duplicates) else some(len(numbers), 'record') + ' '}sent again under {way}"
        for way, numbers in by_way.items()
        if numbers
    ]
    return f": {', '.join(found)}" if found else ""


def _have_several_epochs(copies: Iterable[LogRecord]) -> bool:
    epochs: dict[int, set[int]] = {}
    for copy in copies:
        epochs.setdefault(copy.producer_id, set()).add(copy.producer_epoch)
    return any(len(found) > 1 for of, found in epochs.items() if of >= 0)


def _judged(evidence: Evidence, duplicates: dict[int, list[LogRecord]]) -> list[Finding]:
    explainer = Explainer(evidence)
    stories = {n: explainer.copies(n, copies) for n, copies in duplicates.items()}
    avoidable = {n: story for n, story in stories.items() if story.cause is Cause.NEIGHBOUR}
    bare = {n: story for n, story in stories.items() if story.cause is Cause.NONE}
    doubts = {n: doubt for n, story in bare.items() if (doubt := _doubt(evidence, n, story, duplicates[n]))}
    accused = {n: story for n, story in bare.items() if n not in doubts}
    if doubts and not accused:
        raise Inconclusive(next(iter(doubts.values())))
    return [*_unexplained(accused, duplicates), *_avoidable(avoidable, duplicates)]


def _unexplained(accused: _Explained, duplicates: dict[int, list[LogRecord]]) -> list[Finding]:
    if not accused:
        return []
    told = SAID[next(iter(accused.values())).why]
    whys = tuple(sorted({CODES[story.why] for story in accused.values()}))
    samples = (of_copies(n, duplicates[n]) | {"why": SAID[story.why]} for n, story in accused.items())
    return [UNEXPLAINED.found(len(accused), samples, told=told, whys=whys)]


def _avoidable(stories: _Explained, duplicates: dict[int, list[LogRecord]]) -> list[Finding]:
    if not stories:
        return []
    return [AVOIDABLE.found(len(stories), (of_copies(n, duplicates[n]) for n in stories))]


def _doubt(evidence: Evidence, n: int, story: Explanation, copies: list[LogRecord]) -> Reason | None:
    """Return the unknown fact that may explain the copies of this record, or None if there is none."""
    send, said = evidence.operations.get(n), SAID[story.why]
    begin_ns = send.invoke_ns if send else 0
    until_ns = max((attempt.asked_ns for attempt in story.attempts), default=begin_ns)
    if story.why is Why.NO_REQUEST:
        until_ns = max((frame.t_ns for frame in evidence.frames), default=until_ns)
    elif story.why is not Why.NOTHING_FAILED:
        return None
    of, told = UNEXPLAINED.code, f"record {n} is more than once in the log: {said}"
    if late_ms := harness_stalled_ms(evidence, begin_ns, until_ns):
        return HARNESS_STALLED.reason(of=of, told=told, stalled_ms=late_ms)
    partitions = {copy.partition for copy in copies}
    if hidden := sum(unread_about(evidence, partition, begin_ns, until_ns) for partition in partitions):
        return UNREADABLE.reason(of=of, told=told, count=hidden)
    if story.why is Why.NO_REQUEST:
        return None
    if REQUEST_TIMEOUT in evidence.record.not_set and _waited(evidence, story):
        return NO_TIMEOUT.reason(of=of, told=told)
    if stalled_ms := _stalled_ms(evidence, story):
        return CLIENT_STALLED.reason(of=of, told=told, stalled_ms=stalled_ms)
    return None


@grants("request-timeout-unknown")
def _waited(evidence: Evidence, story: Explanation) -> bool:
    """True if an attempt can have been sent while the previous one waited.

    An unknown timeout may have passed by then.
    """
    known = sending(evidence)
    for earlier, later in pairwise(story.attempts):
        reached_ns = known.reached_ns(earlier)
        if reached_ns is None or reached_ns >= known.sent(later).earliest_ns:
            return True
    return False


@grants("client-stalled-over-answer")
def _stalled_ms(evidence: Evidence, story: Explanation) -> int:
    """Return how long the client stalled from an answer's arrival until the request had timed out, or 0 if it ran.

    When the client runs again, its request has timed out although the answer is in its socket, unread.
    """
    known = sending(evidence)
    for earlier, later in pairwise(story.attempts):
        expired_ns = known.sent(earlier).earliest_ns + known.patience_ns
        reached_ns = known.reached_ns(earlier)
        if reached_ns is None or later.asked_ns < expired_ns:
            continue
        for stall in client_stalls(evidence):
            if stall.begin_ns <= reached_ns + SLACK_NS and stall.end_ns >= expired_ns:
                return (stall.end_ns - stall.begin_ns) // NS_PER_MS
    return 0


def _sent_again(evidence: Evidence) -> int:
    """Count failed attempts and records that are in the log again. Only these can lead to a second copy."""
    return failed_attempts(evidence) + len(accounting.duplicates(evidence))


CHECK = Check(
    name="duplicate",
    summary="Records that are in the log more than once, although the client promised otherwise or had no reason.",
    requirements=(
        Requirement("E2E-DEL-02", Level.MUST, EXACTLY_ONCE, arises=_sent_again),
        Requirement("E2E-DEL-03", Level.MUST, AT_LEAST_ONCE, arises=_sent_again),
    ),
    guarantees=DURABLE,
    requires=frozenset({"history", "log", "frames", "faults"}),
    killed_mutant="retries_with_new_sequence",
    run=run,
)
